// What the #SBATCH lines at the head of a script ask Slurm for, and the variables that Slurm then
// sets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_script.hpp"

namespace culprit::launch {

// Reads the options as sbatch does: from lines that begin with "#SBATCH", up to the first line that
// is neither blank nor a comment; the last of several counts. What is no plain number (a range of
// nodes, a placeholder) stays empty.
BatchRequest read_batch_request(std::string_view script);

struct BatchVariable {
  std::string name;
  BatchNumber number;
};
// SLURM_NNODES and its like, as far as the request decides them.
std::vector<BatchVariable> batch_variables(const BatchRequest& request);

// "nodes 2 (line 3), ntasks-per-node 8 (line 4)"; empty if nothing was asked for.
std::string describe(const BatchRequest& request);

}  // namespace culprit::launch
