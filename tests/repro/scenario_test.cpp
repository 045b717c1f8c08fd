// Every scenario keeps its word: the claim fails as declared, the clean twin passes, and over its matrix
// exactly the declared combinations are minimal.
#include "scenario/scenario.hpp"

#include <algorithm>

#include "gtest/gtest.h"
#include "matrix/axes.hpp"
#include "matrix/minimal.hpp"
#include "outcome/run_once.hpp"

namespace culprit {
namespace {

class ScenarioTest : public testing::TestWithParam<const Scenario*> {};

TEST_P(ScenarioTest, ClaimComesOutAsDeclared) {
  const Scenario& scenario = *GetParam();
  const Outcome outcome = run_once(scenario.model, claim_cell(scenario));
  EXPECT_EQ(row_of(outcome.outcome).name, row_of(scenario.expected.outcome).name) << outcome.message;
  EXPECT_EQ(outcome.kind, scenario.expected.kind);
  // A loss alone says of no rank and micro-batch that it is the first.
  if (outcome.outcome == OutcomeClass::kWrongLoss) return;
  ASSERT_TRUE(outcome.first.has_value());
  EXPECT_EQ(outcome.first->phase, scenario.expected.phase);
}

TEST_P(ScenarioTest, CleanTwinPasses) {
  const Scenario& scenario = *GetParam();
  const Outcome outcome = run_once(scenario.model, clean_cell(scenario));
  EXPECT_EQ(outcome.outcome, OutcomeClass::kPass) << fingerprint(outcome) << " " << outcome.where;
}

struct Table {
  Matrix matrix;
  std::vector<Outcome> outcomes;
};
Table run_table(const Scenario& scenario) {
  Cell pinned;
  pinned.pp = 2;
  Table table{make_matrix(scenario, pinned, /*with_recompute=*/true), {}};
  for (const Choice& choice : table.matrix.choices)
    table.outcomes.push_back(run_once(scenario.model, cell_of(table.matrix, choice)));
  return table;
}

TEST_P(ScenarioTest, MatrixHasExactlyTheDeclaredMinimalCombinations) {
  const Scenario& scenario = *GetParam();
  const Table table = run_table(scenario);
  const auto minimal = minimal_failures(table.matrix, table.outcomes);
  EXPECT_EQ(minimal.size(), scenario.minimal.size());
  for (const std::string& difference :
       differences_from_declared(scenario, table.matrix, table.outcomes, minimal))
    ADD_FAILURE() << difference;
}

TEST_P(ScenarioTest, CellsWithoutADeclaredCombinationPass) {
  const Scenario& scenario = *GetParam();
  const Table table = run_table(scenario);
  for (std::size_t i = 0; i < table.outcomes.size(); ++i) {
    const Settings on = settings_of(table.matrix, table.matrix.choices[i]);
    bool contains_declared = false;
    for (const DeclaredFailure& declared : scenario.minimal) {
      bool all = true;
      for (const auto& setting : declared.switches)
        all &= std::find(on.begin(), on.end(), setting) != on.end();
      contains_declared |= all;
    }
    if (contains_declared) continue;
    EXPECT_EQ(table.outcomes[i].outcome, OutcomeClass::kPass)
        << label_of(table.matrix, table.matrix.choices[i]) << ": " << fingerprint(table.outcomes[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioTest, testing::ValuesIn(all_scenarios()), [](const auto& instance) {
  std::string name;
  for (const char c : instance.param->name)
    if (c != '_') name += c;
  return name;
});

TEST(MinimalFailuresTest, ADoctoredDeclarationIsNoticed) {
  Scenario doctored = scenario_named("skip_identity_leaf");
  const Table table = run_table(doctored);
  const auto minimal = minimal_failures(table.matrix, table.outcomes);
  doctored.minimal[0].kind = "SOMETHING_ELSE";
  EXPECT_EQ(differences_from_declared(doctored, table.matrix, table.outcomes, minimal).size(), 1U);
  doctored.minimal.erase(doctored.minimal.begin());
  EXPECT_EQ(differences_from_declared(doctored, table.matrix, table.outcomes, minimal).size(), 1U);
}

TEST(MatrixTest, MainJobHas48Cells) {
  Cell pinned;
  pinned.pp = 2;
  const Matrix matrix = make_matrix(scenario_named("skip_identity_leaf"), pinned, /*with_recompute=*/true);
  EXPECT_EQ(matrix.choices.size(), 48U);
  EXPECT_EQ(num_on(matrix.choices.front()), 0U);
  EXPECT_EQ(num_on(matrix.choices.back()), matrix.axes.size());
  // pp-merge off keeps the blocks and micro-batches of the pipeline.
  EXPECT_EQ(cell_of(matrix, matrix.choices.front()).pp, 1);
  EXPECT_EQ(cell_of(matrix, matrix.choices.front()).blocks, 2);
}

}  // namespace
}  // namespace culprit
