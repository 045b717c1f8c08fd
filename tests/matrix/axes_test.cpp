// Which cells a run's matrix has, in which order, and what is refused.
#include "matrix/axes.hpp"

#include <set>

#include "base/error.hpp"
#include "gtest/gtest.h"

namespace culprit {
namespace {

Scenario scenario_with(std::vector<std::string> toggles) {
  Scenario scenario;
  scenario.name = "made_up";
  scenario.toggles = std::move(toggles);
  scenario.claim = {{"identity", "skip"}};
  return scenario;
}
Cell pinned(const Settings& settings) {
  Cell cell;
  for (const auto& [name, value] : settings) field(name).set(cell, value);
  return cell;
}
std::vector<std::string> labels(const Matrix& matrix) {
  std::vector<std::string> all;
  for (const Choice& choice : matrix.choices) all.push_back(label_of(matrix, choice));
  return all;
}

TEST(AxesTest, CellsStandByTheNumberOfSwitchesOn) {
  const Scenario scenario = scenario_with({"identity", "residual"});
  EXPECT_EQ(labels(make_matrix(scenario, Cell{}, false)),
            (std::vector<std::string>{"base", "residual", "skip_c_identity", "skip_c_identity + residual"}));
}
TEST(AxesTest, MainJobHasEveryCombinationOnce) {
  const Scenario scenario = scenario_with({"identity", "recompute", "pp", "first_op", "residual"});
  const Matrix matrix = make_matrix(scenario, Cell{}, true);
  EXPECT_EQ(matrix.choices.size(), 2U * 3U * 2U * 2U * 2U);
  EXPECT_EQ(std::set<Choice>(matrix.choices.begin(), matrix.choices.end()).size(), matrix.choices.size());
}
TEST(AxesTest, MarkThatTheFrameworkDoesNotHaveIsCalledWhatItIsThere) {
  Scenario scenario = scenario_with({"identity"});
  scenario.claim = {{"identity", "mark_not_inplace"}};
  EXPECT_EQ(labels(make_matrix(scenario, Cell{}, false)), (std::vector<std::string>{"base", "identity mark_not_inplace"}));
  EXPECT_EQ(labels(make_matrix(scenario, pinned({{"framework", "torch@2.15.0"}}), false)),
            (std::vector<std::string>{"base", "identity returned unmarked"}));
}
TEST(AxesTest, PipelineSwitchKeepsBlocksAndMicroBatches) {
  const Scenario scenario = scenario_with({"pp"});
  const Matrix matrix = make_matrix(scenario, pinned({{"pp", "4"}, {"blocks", "8"}, {"acc", "3"}}), false);
  ASSERT_EQ(matrix.choices.size(), 2U);
  for (const Choice& choice : matrix.choices) {
    EXPECT_EQ(cell_of(matrix, choice).blocks, 8);
    EXPECT_EQ(cell_of(matrix, choice).acc, 3);
  }
  EXPECT_EQ(cell_of(matrix, matrix.choices[0]).pp, 1);
  EXPECT_EQ(cell_of(matrix, matrix.choices[1]).pp, 4);
}
TEST(AxesTest, OneStageLeavesThePipelineSwitchOut) {
  EXPECT_EQ(make_matrix(scenario_with({"pp", "residual"}), pinned({{"pp", "1"}, {"blocks", "2"}}), false).choices.size(),
            2U);
}
TEST(AxesTest, ImpossibleCellsAreLeftOut) {
  Scenario scenario = scenario_with({"pp", "release"});
  scenario.claim = {{"release", "1"}};
  // Nothing is sent by a single stage, so nothing can be released.
  EXPECT_EQ(labels(make_matrix(scenario, Cell{}, false)),
            (std::vector<std::string>{"base", "pp-merge", "pp-merge + release"}));
}
TEST(AxesTest, SwitchAtAValueThatTheMatrixDoesNotHaveIsRefused) {
  const Scenario scenario = scenario_with({"identity"});
  try {
    make_matrix(scenario, pinned({{"identity", "view"}}), false);
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("--identity=view"), std::string::npos) << message;
    EXPECT_NE(message.find("copy and skip"), std::string::npos) << message;
  }
}
TEST(AxesTest, SwitchAskedForIsInTheMatrixAnyway) {
  EXPECT_EQ(make_matrix(scenario_with({"identity"}), pinned({{"identity", "skip"}}), false).choices.size(), 2U);
}

}  // namespace
}  // namespace culprit
