// What one rank's run of a cell left behind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "engine/parameter.hpp"
#include "pipeline/stage.hpp"
#include "tensor/backend.hpp"
#include "trace/cell_trace.hpp"

namespace culprit {

struct RankError {
  enum class Class { kError, kCrash, kHang, kPeerLost };
  Class error_class = Class::kError;
  std::string kind;
  std::string message;
  Phase phase;
  bool in_recompute = false;  // raised by the second run of a recomputed block
};

// A parameter's gradient as it stands at the end of the step; none if nothing arrived.
struct ParameterGrad {
  ParameterSpec spec;
  std::optional<std::vector<float>> grad;  // this rank's shard
  // Only when asked for: the gradient accumulated after each micro-batch's backward.
  std::vector<std::optional<std::vector<float>>> after_micro_batch;
};

struct RankResult {
  int stage = 0;
  int tp_rank = 0;
  std::optional<RankError> error;
  double loss = 0.0;  // sum over micro-batches of mean / M; last stage only
  int released_outputs = 0;
  std::vector<ParameterGrad> grads;  // in the model's order; empty after an error
  CommCounters comm;
  MemoryCounters memory;
  RankTrace trace;  // only when asked for
};

}  // namespace culprit
