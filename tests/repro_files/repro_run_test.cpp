// The C++ files of the minimal cells, compiled and run: same outcome and exit status as the engine;
// the test red with the marked line changed.
#include <filesystem>

#include "gtest/gtest.h"
#include "repro_files/check_repro_files.hpp"
#include "repro_files/failing_cells.hpp"

namespace culprit {
namespace {

using test::failing_cells;
using test::FailingCell;
using test::file_of;

std::vector<FailingCell> all_cells() {
  std::vector<FailingCell> cells = failing_cells();
  cells.push_back(test::cell_without_a_script());
  return cells;
}

ReproCheckOptions options() {
  ReproCheckOptions options = default_check_options();
  options.cache.clear();  // never from an earlier run
  options.deadline = std::chrono::minutes(5);
  return options;
}

class ReproRunTest : public testing::TestWithParam<FailingCell> {};

TEST_P(ReproRunTest, SourceShowsTheEnginesOutcome) {
  const ReproCheck check = check_repro_files({file_of(GetParam(), test::kCpp)}, options())[0];
  EXPECT_EQ(check.status, ReproCheck::Status::kShown) << check.words << "\n" << check.output_tail;
}

INSTANTIATE_TEST_SUITE_P(Minimal, ReproRunTest, testing::ValuesIn(all_cells()),
                         [](const auto& instance) { return std::string(instance.param.name); });

// One for each rule that can be at fault.
class ReproRuleTest : public testing::TestWithParam<std::string> {};

TEST_P(ReproRuleTest, TestIsGreenTodayAndRedWithTheFix) {
  for (const FailingCell& cell : all_cells()) {
    if (cell.name != GetParam()) continue;
    const ReproCheck check = check_repro_files({file_of(cell, test::kTest)}, options())[0];
    EXPECT_EQ(check.status, ReproCheck::Status::kShown) << check.words << "\n" << check.output_tail;
    return;
  }
  FAIL() << "no such cell";
}

INSTANTIATE_TEST_SUITE_P(Rules, ReproRuleTest,
                         testing::Values("SkipResidual", "OverlapStoppedInput",
                                         "ReleasedTensorRead", "CapturedGraphFreed",
                                         "NonReentrantFrozenLinear"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace culprit
