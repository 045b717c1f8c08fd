#include "pipeline/schedule.hpp"

#include <algorithm>

namespace culprit {

int num_warmup_forwards(int stage, int num_stages, int num_micro_batches) {
  return std::min(num_stages - stage - 1, num_micro_batches);
}

void run_1f1b(int stage, int num_stages, int num_micro_batches, const std::function<void(int)>& forward,
              const std::function<void(int)>& backward) {
  const int warmup = num_warmup_forwards(stage, num_stages, num_micro_batches);
  for (int m = 0; m < warmup; ++m) forward(m);
  for (int m = 0; m < num_micro_batches - warmup; ++m) {
    forward(warmup + m);
    backward(m);
  }
  for (int m = num_micro_batches - warmup; m < num_micro_batches; ++m) backward(m);
}

}  // namespace culprit
