#include "matrix/run_matrix.hpp"

#include <algorithm>

#include "autograd/rules.hpp"

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

// One micro-batch, one token, a feature a rank, a block a stage, two ranks and stages where there
// are several.
Cell at_smallest(Cell cell) {
  cell.acc = 1;
  cell.tokens = 1;
  cell.tp = std::min(cell.tp, 2);
  cell.pp = std::min(cell.pp, 2);
  cell.hidden = cell.tp;
  cell.blocks = cell.pp;
  return cell;
}

// All trials at the minimal cells, in one batch so that they run side by side.
void try_fixes(const Scenario& scenario, JobResult& job, TrialRunner& runner) {
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
    finding.smallest.cell = at_smallest(cell);
    ask(finding.smallest.cell, finding.smallest.outcome);
    for (const int fan_out : {1, 2}) {
      std::vector<FixTrial>& trials = finding.fixes[fan_out - 1];
      trials.resize(candidate_fixes().size());
      for (std::size_t f = 0; f < trials.size(); ++f) {
        const FixedCell fixed = apply_fix(candidate_fixes()[f], with_fan_out(cell, fan_out));
        trials[f].applies = fixed.applies && why_not_modelled(scenario, fixed.cell).empty();
        trials[f].cell = fixed.cell;
        if (trials[f].applies) ask(fixed.cell, trials[f].outcome);
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

void compare_frameworks(const Scenario& scenario, JobResult& job, TrialRunner& runner) {
  std::vector<Cell> cells;
  std::vector<MinimalFinding*> findings;
  for (MinimalFinding& finding : job.minimal) {
    const Cell cell = cell_of(job.matrix, job.matrix.choices[finding.index]);
    Cell elsewhere = cell;
    elsewhere.framework = kComparedFramework;
    if (!why_not_modelled(scenario, elsewhere).empty()) continue;
    cells.push_back(cell);
    findings.push_back(&finding);
  }
  auto results = try_other_framework(cells, runner);
  for (std::size_t i = 0; i < results.size(); ++i) findings[i]->other_framework = std::move(results[i]);
}

// A scenario's word holds for its switches; another toggle off its default changes what they come
// to. Sizes must not.
bool is_as_declared_for(const Scenario& scenario, const Matrix& matrix) {
  static const Cell defaults;
  const auto is_axis = [&](const Field& row) {
    return std::any_of(matrix.axes.begin(), matrix.axes.end(),
                       [&](const Axis& a) { return a.field->name == row.name; });
  };
  for (const Field& row : fields())
    if (row.group == Field::Group::kToggle && !is_axis(row) &&
        row.get(matrix.base) != row.get(defaults))
      return false;
  for (const Field& row : scenario.own_toggles)
    if (!is_axis(row) && row.get(matrix.base) != row.get(defaults)) return false;
  return true;
}

// A cell that is traced, the file it goes to and where it is kept.
struct TraceFile {
  std::size_t index;
  std::string file;
  CellTrace* trace;
};

std::vector<TraceFile> trace_files(JobResult& job, const std::string& prefix) {
  std::vector<TraceFile> list;
  for (std::size_t i = 0; i < std::min(kMaxTraced, job.minimal.size()); ++i) {
    MinimalFinding& finding = job.minimal[i];
    const std::string name = prefix + std::to_string(i + 1);
    list.push_back({finding.index, name + ".json", &finding.trace});
    if (finding.passing_neighbour)
      list.push_back(
          {*finding.passing_neighbour, name + "_passing.json", &finding.neighbour_trace});
  }
  return list;
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
  try_fixes(scenario, job, runner);
  compare_frameworks(scenario, job, runner);
  job.judged = is_as_declared_for(scenario, matrix);
  if (job.judged)
    job.differences = differences_from_declared(scenario, matrix, job.outcomes, minimal);
  return job;
}

void trace_findings(JobResult& job, TrialRunner& runner, const std::filesystem::path& folder,
                    const std::string& prefix) {
  std::vector<Cell> cells;
  std::vector<std::filesystem::path> files;
  std::vector<CellTrace*> results;
  for (const TraceFile& entry : trace_files(job, prefix)) {
    cells.push_back(cell_of(job.matrix, job.matrix.choices[entry.index]));
    files.push_back(folder / entry.file);
    results.push_back(entry.trace);
  }
  std::vector<CellTrace> traces = runner.trace(cells, files);
  for (std::size_t i = 0; i < traces.size(); ++i) *results[i] = std::move(traces[i]);
}

void read_traces(JobResult& job, const std::filesystem::path& folder, const std::string& prefix) {
  for (const TraceFile& entry : trace_files(job, prefix))
    *entry.trace = read_trace(folder / entry.file);
}

}  // namespace culprit
