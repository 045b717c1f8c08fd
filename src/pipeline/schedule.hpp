// The 1F1B pipeline schedule (rule 16).
#pragma once

#include <functional>

namespace culprit {

// How many forwards stage `stage` of `num_stages` runs before its first backward:
// min(num_stages - stage - 1, num_micro_batches).
int num_warmup_forwards(int stage, int num_stages, int num_micro_batches);

// Calls forward(m) and backward(m) for every micro-batch m in the order of the schedule: the warm-up
// forwards, then one forward and one backward in turn, then the remaining backwards.
void run_1f1b(int stage, int num_stages, int num_micro_batches, const std::function<void(int)>& forward,
              const std::function<void(int)>& backward);

}  // namespace culprit
