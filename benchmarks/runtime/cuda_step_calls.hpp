// The calls of a step made by hand on GPUs: cuBLAS, NCCL and this project's element-wise kernels
// straight on CUDA streams.
#pragma once

#include <nccl.h>

#include <memory>
#include <vector>

#include "step_by_hand.hpp"

namespace culprit {

// The communicators of a job of tp x stages GPUs, world rank = stage * tp + tensor rank = GPU. A
// pair of neighbours in a pipe has one for each way, so that no message queues behind one of the
// other way (NCCL works off a communicator's calls in the order in which they were made).
class NcclPipes {
 public:
  NcclPipes(int tp, int num_stages);
  ~NcclPipes();
  NcclPipes(const NcclPipes&) = delete;
  NcclPipes& operator=(const NcclPipes&) = delete;

  // Null at tp 1.
  ncclComm_t tensor(int stage, int tp_rank) const;
  // That rank's end of the pair (stage, stage + 1): 0 is the earlier stage's.
  ncclComm_t pair(Way way, int earlier_stage, int tp_rank, int end) const;

 private:
  int tp_, num_stages_;
  std::vector<std::vector<ncclComm_t>> tensor_;  // [stage][tp_rank]
  std::vector<std::vector<ncclComm_t>> pairs_;   // [(way, stage, tp_rank)][end]
  std::size_t pair_index(Way way, int earlier_stage, int tp_rank) const;
};

// Makes `shape.stage * tp + tp_rank` the calling thread's GPU; used by that thread alone. `pipes`
// outlives it.
std::unique_ptr<StepCalls> cuda_step_calls(const StepShape& shape, int tp_rank, DType dtype,
                                           const NcclPipes& pipes);

// While it is on, calls that need another rank do nothing. A whole step so makes CUDA load every
// kernel: a first launch may wait for the GPU, on which a receive may be waiting for the host.
void set_alone(StepCalls& cuda_calls, bool alone);

}  // namespace culprit
