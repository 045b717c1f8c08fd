// Stage entry: a job's matrix and fixes, run and evaluated.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "matrix/axes.hpp"
#include "matrix/fixes.hpp"
#include "matrix/minimal.hpp"
#include "matrix/other_framework.hpp"
#include "matrix/trial_runner.hpp"

namespace culprit {

// A cell at other sizes.
struct ResizedCell {
  Cell cell;
  Outcome outcome;
};

// One minimal failing combination and what was tried at it.
struct MinimalFinding {
  std::size_t index = 0;  // into Matrix::choices
  // By the order of candidate_fixes(), at fan-out 1 and at fan-out 2.
  std::vector<FixTrial> fixes[2];
  Outcome two_linears;      // the combination itself at fan-out 2
  Outcome one_micro_batch;  // the combination itself with one micro-batch
  std::optional<OtherFramework> other_framework;
  std::optional<std::size_t> passing_neighbour;  // into Matrix::choices (minimal.hpp, nearest_passing)
  // Filled by trace_findings; without ranks where there is none.
  CellTrace trace;
  CellTrace neighbour_trace;
  ResizedCell smallest;       // the combination itself at the smallest sizes of the model
};

struct JobResult {
  std::string title;  // how the job was run, for a launch script; else empty
  Matrix matrix;
  std::vector<Outcome> outcomes;  // by Matrix::choices
  std::vector<MinimalFinding> minimal;
  bool judged = true;                    // false: outcomes are reported, not held against the scenario's word
  std::vector<std::string> differences;  // from what the scenario declared
};

JobResult run_matrix(const Scenario& scenario, const Matrix& matrix, TrialRunner& runner);

// Of so many minimal combinations a run keeps what their ranks did.
inline constexpr std::size_t kMaxTraced = 8;
// Traces the job's first kMaxTraced minimal combinations and their passing neighbours, into files PREFIX1.json,
// PREFIX1_passing.json, ... in `folder`, which must exist.
void trace_findings(JobResult& job, TrialRunner& runner, const std::filesystem::path& folder,
                    const std::string& prefix);
// Reads these files back; a cell whose file is missing keeps an empty trace. Errors: SetupError when one is broken.
void read_traces(JobResult& job, const std::filesystem::path& folder, const std::string& prefix);

}  // namespace culprit
