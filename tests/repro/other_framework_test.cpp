// Which of PyTorch's rules makes a scenario's failure go away.
#include "matrix/other_framework.hpp"

#include "autograd/rules.hpp"
#include "gtest/gtest.h"
#include "matrix/cells_file.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

// What is found for a scenario's claim; every trial that may be asked for has been run.
std::optional<OtherFramework> compared(const std::string& name, const Settings& more = {}) {
  const Scenario& scenario = scenario_named(name);
  Cell cell = claim_cell(scenario);
  for (const auto& [field_name, value] : more) field_of(scenario, field_name).set(cell, value);
  std::vector<Cell> cells;
  std::vector<std::string> frameworks{std::string(kComparedFramework)};
  for (const NamedRule& rule : named_rules())
    if (rules_of(cell.framework).*rule.field != rules_of(kComparedFramework).*rule.field)
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

std::string rule_of(const std::string& name, const Settings& more = {}) {
  const auto result = compared(name, more);
  return result && result->rule ? named_rules()[*result->rule].name : "";
}

TEST(OtherFrameworkTest, ReturnedInputIsTheReasonOfEverySkippedIdentity) {
  for (const char* name :
       {"skip_identity_leaf", "skip_identity_recompute", "skip_identity_pipeline",
        "skip_identity_residual", "skip_identity_qlora", "skip_identity_two_linears",
        "skip_identity_two_linears_nonreentrant", "not_inplace_drops_grad"})
    EXPECT_EQ(rule_of(name), "new_handle") << name;
  EXPECT_EQ(named_rules().front().meaning, "a new handle for an input returned as is");
}

TEST(OtherFrameworkTest, OtherFailuresHaveReasonsOfTheirOwn) {
  EXPECT_EQ(rule_of("overlap_stopped_input"), "gradient_dropped");
  EXPECT_EQ(rule_of("nonreentrant_frozen_linear"), "need_kept");
}

TEST(OtherFrameworkTest, WhatFailsUnderBothIsSaidSo) {
  const auto result = compared("overlap_unwaited_reduce");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome.outcome, OutcomeClass::kWrongGrad);
  EXPECT_FALSE(result->rule);
}

TEST(OtherFrameworkTest, CellUnderTheseRulesIsNotComparedWithItself) {
  Cell cell = claim_cell(scenario_named("skip_identity_leaf"));
  cell.framework = kComparedFramework;
  TrialRunner runner("skip_identity_leaf", {.on_planned = {}, .on_done = {}});
  EXPECT_FALSE(try_other_framework({cell}, runner)[0]);
}

}  // namespace
}  // namespace culprit
