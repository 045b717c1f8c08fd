#include "matrix/run_matrix.hpp"

#include <algorithm>

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
void try_fixes(JobResult& job, TrialRunner& runner) {
  std::vector<Cell> cells;
  std::vector<Outcome*> results;  // where the outcome of each of `cells` goes
  const auto ask = [&](const Cell& cell, Outcome& result) {
    cells.push_back(cell);
    results.push_back(&result);
  };
  for (MinimalFinding& finding : job.minimal) {
    const Cell cell = cell_of(job.matrix, job.matrix.choices[finding.index]);
    ask(with_fan_out(cell, 2), finding.two_linears);
    ask(with_one_micro_batch(cell), finding.one_micro_batch);
    for (const int fan_out : {1, 2}) {
      std::vector<FixTrial>& trials = finding.fixes[fan_out - 1];
      trials.resize(candidate_fixes().size());
      for (std::size_t f = 0; f < trials.size(); ++f) {
        const FixedCell fixed = apply_fix(candidate_fixes()[f], with_fan_out(cell, fan_out));
        trials[f].applies = fixed.applies;
        trials[f].cell = fixed.cell;
        if (fixed.applies) ask(fixed.cell, trials[f].outcome);
      }
    }
  }
  const std::vector<Outcome> outcomes = runner.run(cells);
  for (std::size_t i = 0; i < outcomes.size(); ++i) *results[i] = outcomes[i];
  for (MinimalFinding& finding : job.minimal)
    for (const int fan_out : {1, 2}) {
      const Outcome& before = fan_out == 1 ? job.outcomes[finding.index] : finding.two_linears;
      for (FixTrial& trial : finding.fixes[fan_out - 1])
        if (trial.applies) trial.effect = classify_fix(before, trial.outcome);
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
    MinimalFinding& finding = job.minimal.emplace_back();
    finding.index = index;
    finding.passing_neighbour = nearest_passing(matrix, job.outcomes, index);
  }
  try_fixes(job, runner);
  static const Cell defaults;
  job.judged = matrix.base.path == defaults.path && matrix.base.framework == defaults.framework;
  if (job.judged)
    job.differences = differences_from_declared(scenario, matrix, job.outcomes, minimal);
  return job;
}

void trace_findings(JobResult& job, TrialRunner& runner, const std::filesystem::path& folder,
                    const std::string& prefix) {
  std::vector<Cell> cells;
  std::vector<std::filesystem::path> files;
  std::vector<CellTrace*> results;
  const auto ask = [&](std::size_t index, const std::string& file, CellTrace& result) {
    cells.push_back(cell_of(job.matrix, job.matrix.choices[index]));
    files.push_back(folder / file);
    results.push_back(&result);
  };
  for (std::size_t i = 0; i < std::min(kMaxTraced, job.minimal.size()); ++i) {
    MinimalFinding& finding = job.minimal[i];
    const std::string name = prefix + std::to_string(i + 1);
    ask(finding.index, name + ".json", finding.trace);
    if (finding.passing_neighbour)
      ask(*finding.passing_neighbour, name + "_passing.json", finding.neighbour_trace);
  }
  std::vector<CellTrace> traces = runner.trace(cells, files);
  for (std::size_t i = 0; i < traces.size(); ++i) *results[i] = std::move(traces[i]);
}

}  // namespace culprit
