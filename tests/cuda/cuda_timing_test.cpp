// Faults of timing: a wait that is left out for real must show on a GPU and be caught; with it,
// nothing.
#include "base/error.hpp"
#include "cuda/cuda_runtime.hpp"
#include "gtest/gtest.h"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {
namespace {

constexpr int kRuns = 20;

class CudaTimingTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    try {
      cuda_runtime();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // How many of the runs came to each outcome.
  std::map<std::string, int> outcomes(Cell cell) {
    cell.hidden = 512;  // so that a collective takes as long as what races with it
    cell.tokens = 256;
    std::map<std::string, int> counts;
    for (int i = 0; i < kRuns; ++i)
      ++counts[std::string(
          row_of(run_once(scenario.model, cell, {.runtime = &cuda_runtime()}).outcome).name)];
    return counts;
  }
  const Scenario& scenario = scenario_named(GetParam());
};

TEST_P(CudaTimingTest, LeftOutWaitShowsAndIsCaught) {
  auto counts = outcomes(claim_cell(scenario));
  const std::string wrong(row_of(scenario.expected.outcome).name);
  EXPECT_GT(counts[wrong], 0);
  EXPECT_EQ(counts[wrong] + counts["PASS"], kRuns);
  std::printf("%s, wait left out: %d of %d runs %s\n", GetParam(), counts[wrong],
              kRuns, wrong.c_str());
}

TEST_P(CudaTimingTest, WithTheWaitEveryRunPasses) {
  EXPECT_EQ(outcomes(clean_cell(scenario))["PASS"], kRuns);
}

INSTANTIATE_TEST_SUITE_P(Faults, CudaTimingTest,
                         ::testing::Values("overlap_unwaited_reduce", "scale_before_reduce",
                                           "send_buffer_reused"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace culprit::test
