// A collective among ranks on one device, without copies: one kernel reads every member's memory
// and writes every result.
#pragma once

#include <memory>
#include <vector>

#include "cuda/cuda_backend.hpp"

namespace culprit::cuda {

class CudaExchange final : public Exchange {
 public:
  CudaExchange(std::size_t num_members, DType dtype);
  // Waits for the kernel where a member abandoned its memory before it ran.
  ~CudaExchange() override;

  void give(std::size_t member, Backend& backend, const CollectiveCall& call) override;
  void complete(std::uint64_t attends) override;
  void take(std::size_t member) override;
  void abandon(std::size_t member) override;

 private:
  struct Member {
    CudaBackend* backend = nullptr;
    CollectiveCall call;
    Event ready;                              // its memory may be read
    std::unique_ptr<DeviceBlock> substitute;  // for memory that was abandoned
  };

  DType dtype_;
  std::vector<Member> members_;
  std::size_t last_ = 0;  // who gave last
  Event done_;
};

}  // namespace culprit::cuda
