#include "cuda/nccl_own_kind.hpp"

#include "cuda/check.hpp"
#include "cuda/kernels.hpp"

namespace culprit::cuda {

void take_own_kind(DType dtype, cudaStream_t stream, const CollectiveCall& call,
                   const std::byte* gathered, std::size_t num_members) {
  const std::size_t part_bytes = static_cast<std::size_t>(call.num_elements) * size_of(dtype);
  if (call.kind == ExchangeKind::kGather) {
    check(cudaMemcpyAsync(call.result, gathered, part_bytes * num_members, cudaMemcpyDeviceToDevice,
                          stream),
          "cudaMemcpyAsync");
    return;
  }
  Members pointers;
  for (std::size_t m = 0; m < num_members; ++m) pointers.add_mine(gathered + m * part_bytes);
  pointers.add_result(call.result);
  sum_members(dtype, stream, pointers, call.num_elements);
}

}  // namespace culprit::cuda
