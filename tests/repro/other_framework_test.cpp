// Which of PyTorch's rules makes a scenario's failure go away.
#include "matrix/other_framework.hpp"

#include <algorithm>

#include "autograd/rules.hpp"
#include "base/error.hpp"
#include "gtest/gtest.h"
#include "matrix/axes.hpp"
#include "matrix/cells_file.hpp"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

std::size_t num_differing(const std::string& framework) {
  std::size_t number = 0;
  for (const NamedRule& rule : named_rules())
    number += rules_of(framework).*rule.field != rules_of(kComparedFramework).*rule.field;
  return number;
}

// What is found for a scenario's claim; every trial that may be asked for has been run.
std::optional<OtherFramework> compared(const std::string& name, const Settings& more = {}) {
  const Scenario& scenario = scenario_named(name);
  Cell cell = claim_cell(scenario);
  for (const auto& [field_name, value] : more) field_of(scenario, field_name).set(cell, value);
  std::vector<Cell> cells;
  std::vector<std::string> frameworks{std::string(kComparedFramework)};
  for (const NamedRule& rule : named_rules())
    if (cell.framework.find('+') == std::string::npos &&
        rules_of(cell.framework).*rule.field != rules_of(kComparedFramework).*rule.field)
      frameworks.push_back(cell.framework + "+" + rule.name);
  for (const std::string& framework : frameworks) {
    cells.push_back(cell);
    cells.back().framework = framework;
  }
  const auto outcomes = run_cells(scenario.model, cells, 1, cpu_threads());
  TrialRunner runner(name, {.on_planned = {}, .on_done = {}});
  for (std::size_t i = 0; i < cells.size(); ++i) runner.remember(cells[i], outcomes[i]);
  return try_other_framework({cell}, runner)[0];
}

std::string rules_that_do_it(const std::string& name, const Settings& more = {}) {
  std::string names;
  if (const auto result = compared(name, more))
    for (const std::size_t rule : result->rules) names += (names.empty() ? "" : " ") + named_rules()[rule].name;
  return names;
}

TEST(OtherFrameworkTest, ReturnedInputIsTheReasonOfEverySkippedIdentity) {
  for (const char* name :
       {"skip_identity_leaf", "skip_identity_recompute", "skip_identity_pipeline",
        "skip_identity_residual", "skip_identity_qlora", "skip_identity_two_linears",
        "skip_identity_two_linears_nonreentrant", "not_inplace_drops_grad"})
    EXPECT_EQ(rules_that_do_it(name), "new_handle") << name;
  EXPECT_EQ(named_rules().front().meaning, "a new handle for an input returned as is");
}

TEST(OtherFrameworkTest, OtherFailuresHaveReasonsOfTheirOwn) {
  EXPECT_EQ(rules_that_do_it("overlap_stopped_input"), "gradient_dropped");
  EXPECT_EQ(rules_that_do_it("nonreentrant_frozen_linear"), "need_kept");
}

TEST(OtherFrameworkTest, WhatFailsUnderBothIsSaidSo) {
  const auto result = compared("overlap_unwaited_reduce");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome.outcome, OutcomeClass::kWrongGrad);
  EXPECT_TRUE(result->rules.empty());
}

TEST(OtherFrameworkTest, EveryDifferingNamedRuleIsTriedByItself) {
  const auto result = compared("skip_identity_leaf");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->num_tried, num_differing("paddle@3.3.1"));
  EXPECT_EQ(compared("skip_identity_leaf", {{"framework", "paddle@2.6.2"}})->num_tried, num_differing("paddle@2.6.2"));
}

TEST(OtherFrameworkTest, NothingIsTriedOnAFrameworkThatHasTakenOverARule) {
  const auto result = compared("skip_identity_leaf", {{"framework", "paddle@3.3.1+hooks_nest"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome.outcome, OutcomeClass::kPass);
  EXPECT_EQ(result->num_tried, 0U);
  EXPECT_TRUE(result->rules.empty());
}

TEST(OtherFrameworkTest, AllRulesThatAreEnoughAreFound) {
  const Cell cell = claim_cell(scenario_named("skip_identity_leaf"));
  TrialRunner runner("skip_identity_leaf", {.on_planned = {}, .on_done = {}});
  Outcome fails;
  fails.outcome = OutcomeClass::kError;
  const auto remember = [&](const std::string& framework, const Outcome& outcome) {
    Cell elsewhere = cell;
    elsewhere.framework = framework;
    runner.remember(elsewhere, outcome);
  };
  remember(std::string(kComparedFramework), Outcome{});
  for (std::size_t r = 0; r < named_rules().size(); ++r)
    if (named_rules()[r].name != "none_accepted")  // 3.3.1 has it
      remember("paddle@3.3.1+" + named_rules()[r].name, r == 1 || r == 4 ? Outcome{} : fails);
  const auto result = try_other_framework({cell}, runner)[0];
  EXPECT_EQ(result->rules, (std::vector<std::size_t>{1, 4}));
  EXPECT_EQ(result->num_tried, named_rules().size() - 1);
}

TEST(OtherFrameworkTest, CellsThatReadAReleasedOutputAreLeftOutByNameUnderTheseRules) {
  const Scenario& scenario = scenario_named("released_tensor_read");
  Cell pinned;
  apply_settings(scenario, pinned, {{"framework", std::string(kComparedFramework)}, {"pp", "2"}});
  const Matrix matrix = make_matrix(scenario, pinned, /*with_recompute=*/true);
  std::vector<std::string> left_out = matrix.left_out;
  std::sort(left_out.begin(), left_out.end());
  EXPECT_EQ(left_out, (std::vector<std::string>{
                          "capture=sent + release + recompute (non-reentrant) + pp-merge: torch@2.15.0: what becomes of a "
                          "released output that is read is not modelled",
                          "capture=sent + release + recompute (reentrant) + pp-merge: torch@2.15.0: what becomes of a "
                          "released output that is read is not modelled"}));
  std::size_t refused = 0;
  std::vector<Choice> choices = matrix.choices;
  for (const std::size_t recompute : {1U, 2U}) choices.push_back({1, 1, recompute, 1});
  for (const Choice& choice : choices) try {
      run_once(scenario.model, cell_of(matrix, choice));
    } catch (const UsageError&) {
      ++refused;
      EXPECT_FALSE(why_not_modelled(scenario, cell_of(matrix, choice)).empty()) << label_of(matrix, choice);
    }
  EXPECT_EQ(refused, 2U);
  apply_settings(scenario, pinned, {{"framework", "paddle@3.3.1"}});
  EXPECT_EQ(make_matrix(scenario, pinned, /*with_recompute=*/true).choices.size(), matrix.choices.size() + 2);
}

TEST(OtherFrameworkTest, CellUnderTheseRulesIsNotComparedWithItself) {
  Cell cell = claim_cell(scenario_named("skip_identity_leaf"));
  cell.framework = kComparedFramework;
  TrialRunner runner("skip_identity_leaf", {.on_planned = {}, .on_done = {}});
  EXPECT_FALSE(try_other_framework({cell}, runner)[0]);
}

}  // namespace
}  // namespace culprit
