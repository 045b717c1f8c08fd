// Faults of timing: a wait that is left out for real must show on a GPU and be caught; with it,
// nothing.
#include "base/error.hpp"
#include "cuda/cuda_runtime.hpp"
#include "gtest/gtest.h"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {
namespace {

class CudaTimingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cuda_runtime();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  // How many of `runs` came to each outcome.
  std::map<std::string, int> outcomes(Cell cell, int runs) {
    cell.hidden = 512;  // so that a collective takes as long as what races with it
    cell.tokens = 256;
    std::map<std::string, int> counts;
    for (int i = 0; i < runs; ++i)
      ++counts[std::string(
          row_of(run_once(scenario.model, cell, {.runtime = &cuda_runtime()}).outcome).name)];
    return counts;
  }
  const Scenario& scenario = scenario_named("overlap_unwaited_reduce");
};

TEST_F(CudaTimingTest, GradientReadBeforeItsAllReduceEndedIsCaught) {
  auto counts = outcomes(claim_cell(scenario), 20);
  EXPECT_GT(counts["WRONG_GRAD"], 0);
  EXPECT_EQ(counts["WRONG_GRAD"] + counts["PASS"], 20);
  std::printf("wait left out: %d of 20 runs with a wrong gradient\n", counts["WRONG_GRAD"]);
}

TEST_F(CudaTimingTest, WithTheWaitEveryRunPasses) {
  EXPECT_EQ(outcomes(clean_cell(scenario), 20)["PASS"], 20);
}

}  // namespace
}  // namespace culprit::test
