#include "report/matrix_picture.hpp"

#include <set>

#include "gtest/gtest.h"
#include "report/html_report.hpp"
#include "report/made_up_record.hpp"
#include "report/markdown_report.hpp"
#include "report/svg_report.hpp"

namespace culprit {
namespace {

TEST(MatrixPictureTest, EveryCellHasItsPlace) {
  const RunRecord record = test::made_up_record();
  const Matrix& matrix = record.jobs[0].matrix;
  const MatrixPicture picture = picture_of(matrix);
  EXPECT_EQ(picture.columns, 6U);
  EXPECT_EQ(picture.rows, 8U);
  std::set<std::size_t> seen;
  for (const auto& cell : picture.cells)
    if (cell) seen.insert(*cell);
  EXPECT_EQ(seen.size(), matrix.choices.size());
  // Off everywhere: the upper left.
  EXPECT_EQ(label_of(matrix, matrix.choices[*picture.at(0, 0)]), "base");
}
TEST(MatrixPictureTest, ImpossibleCellsAreEmpty) {
  RunRecord record = test::made_up_record();
  Matrix matrix = record.jobs[0].matrix;
  const Choice gone = matrix.choices.back();
  matrix.choices.pop_back();
  std::size_t empty = 0;
  for (const auto& cell : picture_of(matrix).cells) empty += cell ? 0 : 1;
  EXPECT_EQ(empty, 1U);
}
TEST(MatrixPictureTest, FailuresAreLetteredMinimalOnesFirst) {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  Outcome hang;
  hang.outcome = OutcomeClass::kHang;
  hang.kind = "HANG";
  job.outcomes[1] = hang;
  const FailureKey key(job);
  ASSERT_EQ(key.entries().size(), 2U);
  EXPECT_EQ(key.entries()[0].fingerprint, "ERROR:LEAF_INPLACE@forward");
  EXPECT_EQ(key.letter(hang), "B");
  EXPECT_EQ(key.letter(Outcome{}), "");
}
// 7 switches of 3 values: 2,187 cells.
TEST(MatrixPictureTest, TwoThousandCellsStayBelowFiveMegabytes) {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  Axis three = job.matrix.axes[0];
  three.on.push_back({"identity view", "identity", "view"});
  job.matrix.axes.assign(7, three);
  job.matrix.choices.clear();
  for (std::size_t number = 0; number < 2187; ++number) {
    Choice choice;
    for (std::size_t rest = number, a = 0; a < 7; ++a, rest /= 3) choice.push_back(rest % 3);
    job.matrix.choices.push_back(choice);
  }
  Outcome outcome;
  outcome.worst = 1e-7;
  for (int i = 0; i < 20; ++i)
    outcome.checksums.emplace_back("column_weight" + std::to_string(i) + "@1.1", 1.2345678 + i);
  job.outcomes.assign(job.matrix.choices.size(), outcome);
  job.minimal.clear();
  test::add_finding(job, 5, test::leaf_error());
  const std::string page = html_report(record);
  EXPECT_LT(page.size(), 5'000'000U);
  EXPECT_LT(markdown_report(record).size(), kMarkdownLimit);
  EXPECT_EQ(picture_of(job.matrix).columns, 27U);
}

}  // namespace
}  // namespace culprit
