#include "report/known_reports.hpp"

#include <set>

#include "gtest/gtest.h"
#include "report/made_up_record.hpp"

namespace culprit {
namespace {

TEST(KnownReportsTest, TheCatalogueIsWhole) {
  std::set<std::string> ids;
  ASSERT_GT(known_reports().size(), 20U);
  for (const KnownReport& report : known_reports()) {
    EXPECT_TRUE(ids.insert(report.id).second) << report.id;
    EXPECT_TRUE(report.url.empty() || report.url.starts_with("https://github.com/")) << report.id;
    EXPECT_FALSE(report.title.empty() || report.mechanism.empty() || report.clears.empty() ||
                 report.shapes.empty())
        << report.id;
    for (const FailureShape& shape : report.shapes)
      EXPECT_TRUE(outcome_named(shape.outcome)) << report.id;
  }
}
TEST(KnownReportsTest, AReportedShapeIsFoundWhateverTheSizes) {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  job.minimal.clear();
  Outcome error = test::leaf_error();
  error.first->stage = 3;
  test::add_finding(job, test::index_of(job.matrix, "skip_c_identity + pp-merge"), error);
  EXPECT_EQ(shape_of(record, job, job.minimal[0]).text(),
            "pipeline+skip-identity:ERROR:LEAF_INPLACE");
  const auto words = known_in_words(record, job, job.minimal[0]);
  ASSERT_EQ(words.size(), 1U);
  EXPECT_TRUE(
      words[0].starts_with("same shape as https://github.com/PaddlePaddle/Paddle/issues/59290: "))
      << words[0];
}
TEST(KnownReportsTest, AnotherOutcomeOfTheSameSwitchesIsNotKnown) {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  EXPECT_EQ(known_in_words(record, job, job.minimal[0]),
            std::vector<std::string>{"no known report"});
}
TEST(KnownReportsTest, AccumulationIsPartOfTheShapeWhereOneMicroBatchPasses) {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  job.minimal[0].one_micro_batch = Outcome{};
  EXPECT_TRUE(shape_of(record, job, job.minimal[0]).features.contains("accumulation"));
}

}  // namespace
}  // namespace culprit
