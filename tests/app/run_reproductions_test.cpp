// The reproductions of a run's minimal combinations, as they are written into its folder.
#include "app/run_reproductions.hpp"

#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "outcome/run_once.hpp"
#include "report/made_up_record.hpp"

namespace culprit {
namespace {

namespace fs = std::filesystem;
using Status = Reproduction::Status;

class RunReproductionsTest : public testing::Test {
 protected:
  RunReproductionsTest() {
    char name[] = "/tmp/culprit_run_reproductions_XXXXXX";
    folder_ = ::mkdtemp(name);
    JobResult& job = record_.jobs[0];
    job.minimal.clear();
    add("skip_c_identity + residual");
  }
  ~RunReproductionsTest() override { fs::remove_all(folder_); }

  // As the engine has it.
  void add(const std::string& label) {
    JobResult& job = record_.jobs.back();
    const std::size_t index = test::index_of(job.matrix, label);
    test::add_finding(
        job, index,
        run_once(record_.scenario->model, cell_of(job.matrix, job.matrix.choices[index])));
  }

  RunRecord record_ = test::made_up_record();
  fs::path folder_;
};

TEST_F(RunReproductionsTest, EachCombinationHasAFolderOfItsOwn) {
  add("skip_c_identity + recompute (reentrant)");
  const WrittenReproductions written = write_reproductions(record_, folder_);
  ASSERT_EQ(written.findings.size(), 2U);
  EXPECT_EQ(written.findings[0].folder, "repros/skip_c_identity+residual");
  EXPECT_EQ(written.findings[1].folder, "repros/skip_c_identity+recompute_reentrant");
  for (const FindingReproductions& finding : written.findings) {
    ASSERT_EQ(finding.files.size(), 3U);
    for (const Reproduction& file : finding.files) {
      EXPECT_EQ(file.status, Status::kNotRun);
      EXPECT_EQ(fs::file_size(folder_ / finding.folder / file.name), file.text.size());
    }
  }
}

TEST_F(RunReproductionsTest, JobsThatComeToTheSameCellShareTheirFiles) {
  record_.jobs.push_back(record_.jobs[0]);
  WrittenReproductions written = write_reproductions(record_, folder_);
  ASSERT_EQ(written.findings.size(), 2U);
  EXPECT_EQ(written.findings[1].job, 1U);
  EXPECT_EQ(written.findings[1].folder, written.findings[0].folder);
  EXPECT_EQ(written.files.size(), 3U);
  // Tools that are not here: nothing is run, and the notes of both say so.
  check_reproductions(written, {.cache = {}, .compiler = "/no/compiler", .python = "/no/python"});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(written.findings[0].files[i].words, written.findings[1].files[i].words);
    EXPECT_EQ(written.findings[0].files[i].status, Status::kNotRun);
    EXPECT_NE(written.findings[0].files[i].words, "not checked");
  }
}

TEST_F(RunReproductionsTest, NoMoreThanTheFirstFewCombinations) {
  for (std::size_t i = 0; i < kMaxReproduced; ++i) record_.jobs.push_back(record_.jobs[0]);
  EXPECT_EQ(write_reproductions(record_, folder_).findings.size(), kMaxReproduced);
}

TEST_F(RunReproductionsTest, AnOutcomeThatTheCpuDoesNotShowIsRefused) {
  JobResult& job = record_.jobs[0];
  job.minimal.clear();
  test::add_finding(job, test::index_of(job.matrix, "residual"), test::leaf_error());
  const WrittenReproductions written = write_reproductions(record_, folder_);
  for (const Reproduction& file : written.findings[0].files) {
    EXPECT_EQ(file.status, Status::kNotWritten);
    EXPECT_EQ(file.words, "on the CPU this cell comes to PASS, not ERROR:LEAF_INPLACE@forward");
  }
  EXPECT_FALSE(fs::exists(folder_ / "repros"));
}

TEST_F(RunReproductionsTest, AHangIsNotRunInThisProcess) {
  Outcome hang;
  hang.outcome = OutcomeClass::kHang;
  record_.jobs[0].outcomes[record_.jobs[0].minimal[0].index] = hang;
  const WrittenReproductions written = write_reproductions(record_, folder_);
  EXPECT_EQ(written.findings[0].files[0].status, Status::kNotWritten);
  EXPECT_NE(written.findings[0].files[0].words.find("HANG"), std::string::npos);
}

}  // namespace
}  // namespace culprit
