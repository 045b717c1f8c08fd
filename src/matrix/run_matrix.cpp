#include "matrix/run_matrix.hpp"

#include <utility>

namespace culprit {
namespace {

Cell with_fan_out(Cell cell, int fan_out) {
  cell.fan_out = fan_out;
  return cell;
}
Cell with_one_micro_batch(Cell cell) {
  cell.acc = 1;
  return cell;
}

// All trials at the minimal cells, in one batch so that they run side by side.
void try_fixes(const Matrix& matrix, std::vector<MinimalFinding>& findings, TrialRunner& runner) {
  std::vector<Cell> cells;
  for (MinimalFinding& finding : findings) {
    const Cell cell = cell_of(matrix, matrix.choices[finding.index]);
    cells.push_back(with_fan_out(cell, 2));
    cells.push_back(with_one_micro_batch(cell));
    for (int fan_out : {1, 2})
      for (const Fix& fix : candidate_fixes()) {
        const FixedCell fixed = apply_fix(fix, with_fan_out(cell, fan_out));
        finding.fixes[fan_out - 1].push_back({.effect = FixEffect::kNotApplicable, .cell = fixed.cell, .outcome = {}});
        if (fixed.applies) cells.push_back(fixed.cell);
      }
  }
  const std::vector<Outcome> outcomes = runner.run(cells);
  std::size_t next = 0;
  for (MinimalFinding& finding : findings) {
    const Cell cell = cell_of(matrix, matrix.choices[finding.index]);
    const Outcome at_claim = runner.run({cell})[0];
    finding.two_linears = outcomes[next++];
    finding.one_micro_batch = outcomes[next++];
    for (int fan_out : {1, 2})
      for (std::size_t f = 0; f < candidate_fixes().size(); ++f) {
        if (!apply_fix(candidate_fixes()[f], with_fan_out(cell, fan_out)).applies) continue;
        FixTrial& trial = finding.fixes[fan_out - 1][f];
        trial.outcome = outcomes[next++];
        trial.effect = classify_fix(fan_out == 1 ? at_claim : finding.two_linears, trial.outcome);
      }
  }
}

}  // namespace

JobResult run_matrix(const Scenario& scenario, const Matrix& matrix, TrialRunner& runner) {
  JobResult job;
  job.matrix = matrix;
  std::vector<Cell> cells;
  for (const Choice& choice : matrix.choices) cells.push_back(cell_of(matrix, choice));
  job.outcomes = runner.run(cells);
  const auto minimal = minimal_failures(matrix, job.outcomes);
  for (const std::size_t index : minimal) {
    MinimalFinding finding;
    finding.index = index;
    job.minimal.push_back(std::move(finding));
  }
  try_fixes(matrix, job.minimal, runner);
  static const Cell defaults;
  job.judged = matrix.base.path == defaults.path && matrix.base.framework == defaults.framework;
  if (job.judged) job.differences = differences_from_declared(scenario, matrix, job.outcomes, minimal);
  return job;
}

}  // namespace culprit
