// Stage: engine run. A cell and a model in, one result a rank out.
#pragma once

#include <functional>
#include <vector>

#include "comm/runtime.hpp"
#include "engine/model.hpp"
#include "engine/rank_result.hpp"

namespace culprit {

struct CellRunOptions {
  // Keep the gradient after every micro-batch, to find the first deviating one.
  bool keep_micro_batch_grads = false;
  // Record what every rank does, into RankResult::trace. The run comes out the same but for its
  // memory counters.
  bool trace = false;
  // Called by any rank's thread after each operation; must be thread-safe.
  std::function<void()> on_operation = {};
  // Where the ranks run; outlives the call.
  Runtime* runtime = &cpu_threads();
};

// Runs one training step of `model` in the layout of `cell`, every rank a thread of this process or
// a process of the runtime's job, all of which make this call. A failed rank is data
// (RankResult::error), in the order stage, then tensor rank; among processes rank 0 gets all
// results, the others none. Errors: UsageError for an impossible cell; harness errors of a rank
// (std::exception) are rethrown, lowest rank first, after all ranks have ended, those of another
// process as Error with their exit status.
std::vector<RankResult> run_cell(const Model& model, const Cell& cell,
                                 const CellRunOptions& options = {});

}  // namespace culprit
