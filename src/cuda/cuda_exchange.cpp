#include "cuda/cuda_exchange.hpp"

#include "cuda/check.hpp"
#include "cuda/kernels.hpp"

namespace culprit::cuda {

CudaExchange::CudaExchange(std::size_t num_members, DType dtype)
    : dtype_(dtype), members_(num_members) {}

CudaExchange::~CudaExchange() = default;  // freeing a substitute waits for the device

void CudaExchange::give(std::size_t member, Backend& backend, const CollectiveCall& call) {
  Member& entry = members_[member];
  entry.backend = &static_cast<CudaBackend&>(backend);
  entry.call = call;
  entry.ready.record(entry.backend->stream());
  last_ = member;
}

void CudaExchange::complete(std::uint64_t) {
  const Member& last = members_[last_];
  const cudaStream_t stream =
      last.call.in_order ? last.backend->stream() : last.backend->comm_stream();
  for (const Member& member : members_) member.ready.make_wait(stream);
  // Gathers first: a sum may overwrite what they read.
  for (const ExchangeKind kind : {ExchangeKind::kGather, ExchangeKind::kSum}) {
    Members pointers;
    for (const Member& member : members_) {
      pointers.add_mine(member.call.mine);
      if (member.call.kind == kind) pointers.add_result(member.call.result);
    }
    if (pointers.num_results == 0) continue;
    if (kind == ExchangeKind::kSum)
      sum_members(dtype_, stream, pointers, last.call.num_elements);
    else
      gather_members(dtype_, stream, pointers, last.call.num_elements);
  }
  done_.record(stream);
}

void CudaExchange::take(std::size_t member) { done_.make_wait(members_[member].backend->stream()); }

void CudaExchange::abandon(std::size_t member) {
  Member& entry = members_[member];
  const std::size_t width = size_of(dtype_);
  const std::size_t mine = static_cast<std::size_t>(entry.call.num_elements) * width;
  const std::size_t result = entry.call.kind == ExchangeKind::kSum ? mine : mine * members_.size();
  entry.substitute = std::make_unique<DeviceBlock>(mine + result);
  const cudaStream_t stream = entry.backend->stream();
  check(
      cudaMemcpyAsync(entry.substitute->data(), entry.call.mine, mine, cudaMemcpyDeviceToDevice, stream),
      "cudaMemcpyAsync");
  entry.call.mine = entry.substitute->data();
  entry.call.result = entry.substitute->data() + mine;
  entry.ready.record(stream);
}

}  // namespace culprit::cuda
