// Cells through MPI against the same on threads: equal to the last word and bit.
#include <algorithm>

#include "engine/run_cell.hpp"
#include "gtest/gtest.h"
#include "outcome/outcome_json.hpp"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"
#include "support/job_runtime.hpp"

namespace culprit::test {
namespace {

std::string flags_of(const Cell& cell) {
  std::string text;
  for (const std::string& flag : to_flags(cell)) text += flag + " ";
  return text;
}

// The cells of one layout: types, kinds of recomputation, variants of the identity, paths.
std::vector<Cell> cells_of(int tp, int pp) {
  std::vector<Cell> cells;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    for (const RecomputeKind recompute :
         {RecomputeKind::kNone, RecomputeKind::kReentrant, RecomputeKind::kNonReentrant})
      for (const auto& [identity, path] : {std::pair{IdentityVariant::kCopy, ColumnPath::kIdentity},
                                           {IdentityVariant::kSkip, ColumnPath::kIdentity},
                                           {IdentityVariant::kCopy, ColumnPath::kOverlap}}) {
        Cell cell;
        cell.tp = tp;
        cell.pp = pp;
        cell.blocks = std::max(cell.blocks, pp);
        cell.dtype = dtype;
        cell.recompute = recompute;
        if (tp > 1) {
          cell.identity = identity;
          cell.path = path;
        } else if (identity != IdentityVariant::kCopy || path != ColumnPath::kIdentity) {
          continue;
        }
        cells.push_back(cell);
      }
  return cells;
}

class MpiParityTest : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(MpiParityTest, CellsComeOutAsOnThreads) {
  const auto [tp, pp] = GetParam();
  ProcessGroup& processes = *job_runtime().processes();
  if (tp * pp > processes.size()) GTEST_SKIP() << "needs " << tp * pp << " processes";
  const Scenario& scenario = scenario_named("skip_identity_leaf");
  for (const Cell& cell : cells_of(tp, pp)) {
    const Outcome across = run_once(scenario.model, cell, {.runtime = &job_runtime()});
    if (processes.rank() != 0) continue;
    const Outcome local = run_once(scenario.model, cell);
    EXPECT_EQ(to_json_line(scenario.name, cell, across), to_json_line(scenario.name, cell, local))
        << flags_of(cell);
  }
}

TEST_P(MpiParityTest, EveryScenarioClaimAndCleanTwinComeOutAsOnThreads) {
  const auto [tp, pp] = GetParam();
  ProcessGroup& processes = *job_runtime().processes();
  for (const Scenario* scenario : all_scenarios())
    for (const Cell& cell : {claim_cell(*scenario), clean_cell(*scenario)}) {
      if (cell.tp != tp || cell.pp != pp || tp * pp > processes.size()) continue;
      const Outcome across = run_once(scenario->model, cell, {.runtime = &job_runtime()});
      if (processes.rank() != 0) continue;
      EXPECT_EQ(to_json_line(scenario->name, cell, across),
                to_json_line(scenario->name, cell, run_once(scenario->model, cell)));
    }
}

TEST_P(MpiParityTest, TracesAreThoseOfThreads) {
  const auto [tp, pp] = GetParam();
  ProcessGroup& processes = *job_runtime().processes();
  if (tp * pp > processes.size()) GTEST_SKIP() << "needs " << tp * pp << " processes";
  const Scenario& scenario = scenario_named("skip_identity_leaf");
  Cell cell;
  cell.tp = tp;
  cell.pp = pp;
  cell.blocks = std::max(cell.blocks, pp);
  const auto across = run_cell(scenario.model, cell, {.trace = true, .runtime = &job_runtime()});
  if (processes.rank() != 0) return;
  const auto local = run_cell(scenario.model, cell, {.trace = true});
  ASSERT_EQ(across.size(), local.size());
  for (std::size_t rank = 0; rank < local.size(); ++rank)
    EXPECT_EQ(across[rank].trace, local[rank].trace) << rank;
}

INSTANTIATE_TEST_SUITE_P(Layouts, MpiParityTest,
                         ::testing::Values(std::pair{1, 1}, std::pair{2, 1}, std::pair{1, 2},
                                           std::pair{2, 2}, std::pair{1, 4}, std::pair{4, 1}),
                         [](const auto& instance) {
                           return "tp" + std::to_string(instance.param.first) + "pp" +
                                  std::to_string(instance.param.second);
                         });

}  // namespace
}  // namespace culprit::test
