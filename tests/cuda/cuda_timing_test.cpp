// Faults of timing: a wait that is left out for real must show on a GPU and be caught; with it,
// nothing.
#include "base/error.hpp"
#include "cuda/cuda_runtime.hpp"
#include "gtest/gtest.h"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {
namespace {

// So large that the device is behind the host when the wait is left out, else nothing races.
struct TimingFault {
  const char* scenario;
  int hidden, tokens, acc, runs;
};

class CudaTimingTest : public ::testing::TestWithParam<TimingFault> {
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
    cell.hidden = GetParam().hidden;
    cell.tokens = GetParam().tokens;
    cell.acc = GetParam().acc;
    std::map<std::string, int> counts;
    for (int i = 0; i < GetParam().runs; ++i)
      ++counts[std::string(
          row_of(run_once(scenario.model, cell, {.runtime = &cuda_runtime()}).outcome).name)];
    return counts;
  }
  const Scenario& scenario = scenario_named(GetParam().scenario);
};

TEST_P(CudaTimingTest, LeftOutWaitShowsAndIsCaught) {
  auto counts = outcomes(claim_cell(scenario));
  const std::string wrong(row_of(scenario.expected.outcome).name);
  EXPECT_GT(counts[wrong], 0);
  EXPECT_EQ(counts[wrong] + counts["PASS"], GetParam().runs);
  std::printf("%s, wait left out: %d of %d runs %s\n", GetParam().scenario, counts[wrong],
              GetParam().runs, wrong.c_str());
}

TEST_P(CudaTimingTest, WithTheWaitEveryRunPasses) {
  EXPECT_EQ(outcomes(clean_cell(scenario))["PASS"], GetParam().runs);
}

INSTANTIATE_TEST_SUITE_P(Faults, CudaTimingTest,
                         ::testing::Values(TimingFault{"overlap_unwaited_reduce", 512, 256, 4, 20},
                                           TimingFault{"scale_before_reduce", 512, 256, 4, 20},
                                           TimingFault{"send_buffer_reused", 1024, 1024, 1, 5}),
                         [](const auto& instance) { return std::string(instance.param.scenario); });

}  // namespace
}  // namespace culprit::test
