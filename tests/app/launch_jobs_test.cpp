// From what a launch script says to the jobs that are run: nothing unknown is guessed.
#include "app/launch_jobs.hpp"

#include "base/error.hpp"
#include "gtest/gtest.h"

namespace culprit {
namespace {

using launch::LaunchMapping;
using launch::MappedFlag;
using launch::Setting;

LaunchMapping mapping_of(int tp, int pp, int acc) {
  LaunchMapping mapping;
  mapping.tp = tp;
  mapping.pp = pp;
  mapping.acc = acc;
  return mapping;
}
void leave_unknown(LaunchMapping& mapping, const std::string& name, Setting setting) {
  MappedFlag flag;
  flag.name = name;
  flag.known = false;
  flag.setting = setting;
  flag.line = 7;
  flag.note = "$(cat /etc/tp): output of a command";
  mapping.flags.push_back(flag);
}
std::vector<LaunchJob> jobs_of(LaunchMapping mapping, const Settings& given) {
  return launch_jobs(mapping, given);
}
std::string refusal(LaunchMapping mapping, const Settings& given) {
  try {
    launch_jobs(mapping, given);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(LaunchJobsTest, SizesComeFromTheScript) {
  const auto jobs = jobs_of(mapping_of(4, 2, 8), {});
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].pinned.tp, 4);
  EXPECT_EQ(jobs[0].pinned.pp, 2);
  EXPECT_EQ(jobs[0].pinned.acc, 8);
  EXPECT_FALSE(jobs[0].with_recompute);
}
TEST(LaunchJobsTest, UnknownSizeIsAskedForWithItsLine) {
  LaunchMapping mapping = mapping_of(2, 2, 4);
  mapping.tp.reset();
  leave_unknown(mapping, "--tensor_parallel_degree", Setting::kTp);
  const std::string why = refusal(mapping, {});
  for (const char* part : {"--tensor_parallel_degree", "line 7", "output of a command", "--tp N"})
    EXPECT_NE(why.find(part), std::string::npos) << why;
  EXPECT_EQ(launch_jobs(mapping, {{"tp", "2"}})[0].pinned.tp, 2);
}
TEST(LaunchJobsTest, SizeThatTheScriptSaysMustNotBeSaidAgain) {
  EXPECT_NE(refusal(mapping_of(2, 2, 4), {{"acc", "8"}}).find("says 4"), std::string::npos);
}
TEST(LaunchJobsTest, MicroBatchesThatCannotBeDerivedAreAskedFor) {
  LaunchMapping mapping = mapping_of(2, 2, 4);
  mapping.acc.reset();
  EXPECT_NE(refusal(mapping, {}).find("--acc N"), std::string::npos);
}
TEST(LaunchJobsTest, SizesOutOfRangeAreRefused) {
  EXPECT_NE(refusal(mapping_of(128, 1, 4), {}).find("'128'"), std::string::npos);
  EXPECT_NE(refusal(mapping_of(2, 1, 100000), {}).find("'100000'"), std::string::npos);
}
TEST(LaunchJobsTest, PathAndRecomputeAreTheScriptsToDecide) {
  EXPECT_NE(refusal(mapping_of(2, 2, 4), {{"path", "overlap"}}).find("--path"), std::string::npos);
  EXPECT_NE(refusal(mapping_of(2, 2, 4), {{"recompute", "none"}}).find("--recompute"),
            std::string::npos);
}
TEST(LaunchJobsTest, UnknownRecomputeSwitchIsInTheMatrix) {
  LaunchMapping mapping = mapping_of(2, 2, 4);
  leave_unknown(mapping, "--recompute", Setting::kRecompute);
  EXPECT_TRUE(launch_jobs(mapping, {})[0].with_recompute);
}
TEST(LaunchJobsTest, AsynchronousAllReduceIsRunBothWaysAlsoWhenUnknown) {
  LaunchMapping mapping = mapping_of(2, 2, 4);
  mapping.async_all_reduce = true;
  auto jobs = launch_jobs(mapping, {});
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].pinned.path, ColumnPath::kOverlap);
  EXPECT_EQ(jobs[1].pinned.path, ColumnPath::kIdentity);
  mapping.async_all_reduce.reset();
  leave_unknown(mapping, "--tensor_parallel_config", Setting::kAsyncAllReduce);
  EXPECT_EQ(launch_jobs(mapping, {}).size(), 2U);
}
TEST(LaunchJobsTest, OtherSettingsBesideTheScriptAreTaken) {
  EXPECT_EQ(jobs_of(mapping_of(2, 2, 4), {{"tokens", "5"}})[0].pinned.tokens, 5);
}

}  // namespace
}  // namespace culprit
