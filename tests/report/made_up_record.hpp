// Support: a run's record made up here, with hostile text wherever text comes from outside.
#pragma once

#include <string>

#include "report/run_record.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {

inline constexpr const char* kHostile = "<img src=x onerror=alert(1)>\x1b[2J|@all";

inline std::size_t index_of(const Matrix& matrix, const std::string& label) {
  for (std::size_t i = 0; i < matrix.choices.size(); ++i)
    if (label_of(matrix, matrix.choices[i]) == label) return i;
  return matrix.choices.size();
}

inline Outcome leaf_error() {
  Outcome outcome;
  outcome.outcome = OutcomeClass::kError;
  outcome.kind = "LEAF_INPLACE";
  outcome.where = "stage0.tp0:forward 0";
  outcome.message = kHostile;
  outcome.first =
      Place{.stage = 0, .ranks = "0", .micro_batch = 0, .phase = "forward", .tensor = ""};
  return outcome;
}

inline void add_finding(JobResult& job, std::size_t index, const Outcome& outcome) {
  job.outcomes[index] = outcome;
  MinimalFinding& finding = job.minimal.emplace_back();
  finding.index = index;
  finding.one_micro_batch = outcome;
  finding.two_linears = outcome;
  finding.smallest.outcome = outcome;
  finding.smallest.cell = cell_of(job.matrix, job.matrix.choices[index]);
  finding.smallest.cell.acc = 1;
  finding.passing_neighbour = nearest_passing(job.matrix, job.outcomes, index);
  for (auto& fixes : finding.fixes) {
    fixes.resize(candidate_fixes().size());
    fixes[0].applies = true;
    fixes[0].effect = FixEffect::kClears;
  }
}

// The main matrix of 48 cells; skip + residual is refused, all else passes.
inline RunRecord made_up_record() {
  RunRecord record;
  record.scenario = &scenario_named("skip_identity_leaf");
  record.command = {"culprit", "run", "--from", kHostile};
  record.environment = {{"CPU", kHostile}};
  record.bin_folder = "build/bin";
  record.num_trials = 48;
  JobResult job;
  job.matrix = make_matrix(*record.scenario, Cell{}, true);
  job.outcomes.resize(job.matrix.choices.size());
  for (Outcome& outcome : job.outcomes) outcome.worst = 2e-7;
  add_finding(job, index_of(job.matrix, "skip_c_identity + residual"), leaf_error());
  record.jobs.push_back(std::move(job));
  record.reproductions = {
      {.folder = "repros/skip_c_identity+residual",
       .sizes = "tp 2 x pp 1",
       .files = {{.name = "repro.py", .words = kHostile, .text = "import paddle\n"},
                 {.name = "repro.cpp",
                  .status = Reproduction::Status::kShown,
                  .words = "exit status 10",
                  .text = "int main() {}\n"},
                 {.name = "repro_test.cpp",
                  .status = Reproduction::Status::kNotWritten,
                  .words = kHostile,
                  .text = ""}}}};
  return record;
}

}  // namespace culprit::test
