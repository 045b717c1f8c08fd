// Stage entry: a job's matrix and fixes, run and evaluated.
#pragma once

#include <string>
#include <vector>

#include "matrix/axes.hpp"
#include "matrix/fixes.hpp"
#include "matrix/minimal.hpp"
#include "matrix/trial_runner.hpp"

namespace culprit {

// One minimal failing combination and what was tried at it.
struct MinimalFinding {
  std::size_t index = 0;  // into Matrix::choices
  // By the order of candidate_fixes(), at fan-out 1 and at fan-out 2.
  std::vector<FixTrial> fixes[2];
  Outcome two_linears;      // the combination itself at fan-out 2
  Outcome one_micro_batch;  // the combination itself with one micro-batch
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


}  // namespace culprit
