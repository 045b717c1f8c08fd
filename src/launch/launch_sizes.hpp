// Third step of the mapping: world size, data parallel size and micro-batches a step.
#pragma once

#include <optional>

#include "launch/launch_mapping.hpp"

namespace culprit::launch {

struct BatchSizes {
  std::optional<int> micro;
  std::optional<int> local;  // samples a data-parallel rank a step
  std::optional<int> global;
  int sequence_split = 1;  // ranks that share a sequence: context x separate parallel degree
};

// Fills in tp, pp (1 where a recognised framework was not told otherwise), world_size,
// data_parallel and, if it was not given, acc. Notes what was derived and why something could not
// be. Throws UsageError if a given acc does not fit the global batch, the micro-batch and the data
// parallel size.
void derive_sizes(const LaunchScript& script, LaunchMapping& mapping, const BatchSizes& batch);

}  // namespace culprit::launch
