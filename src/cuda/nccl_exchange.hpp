// A collective among ranks with a GPU each, through NCCL.
//
// A member that attends puts its own part on its device. For the others, which are asleep or at
// other work, the one that completed does, with its own, as one group: making a connection waits
// for the peers' calls.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "cuda/nccl_backend.hpp"

namespace culprit::cuda {

class NcclExchange final : public Exchange {
 public:
  NcclExchange(std::size_t num_members, NcclCommunicators& communicators)
      : num_members_(num_members),
        members_(std::make_unique<Member[]>(num_members)),
        devices_(num_members),
        communicators_(communicators) {}

  void give(std::size_t member, Backend& backend, const CollectiveCall& call) override;
  void complete(std::uint64_t attends) override;
  bool is_launched_by_members() const override { return true; }
  void launch(std::size_t member) override;
  void take(std::size_t member) override;
  void abandon(std::size_t member) override;

 private:
  enum class State { kGiven, kLaunched, kFailed };
  struct Member {
    NcclBackend* backend = nullptr;  // not to be used by others: its rank may have left
    int device = 0;
    cudaStream_t stream = nullptr;
    CollectiveCall call;
    bool is_block = false;                    // its memory could be registered
    LaunchOrder::Turn turn;
    // Of a collective beside the member's work: `begins` is when nothing is before it any more.
    std::optional<Event> ready, begins, done;
    std::unique_ptr<DeviceBlock> substitute;  // for memory that was abandoned
    std::unique_ptr<DeviceBlock> gathered;    // all members' memory, where kinds are mixed
    std::atomic<State> state{State::kGiven};
    std::optional<Trouble> failure;  // where it is kFailed
    std::size_t count() const { return static_cast<std::size_t>(call.num_elements); }
  };

  std::span<Member> members() const { return {members_.get(), num_members_}; }
  std::size_t part_bytes() const { return members_[last_].count() * size_of(dtype_); }
  NcclCommunicators::Registration meet() const;
  void put_on_devices(std::span<const std::size_t> parts);
  ncclResult_t call(std::size_t member) const;

  std::size_t num_members_;
  std::unique_ptr<Member[]> members_;
  // What complete() needs of all members, gathered as they come: each line of another core's memory
  // that it had to read would make a small collective longer by a tenth of a microsecond.
  std::vector<int> devices_;
  std::size_t num_given_ = 0;
  std::size_t last_ = 0;  // who gave last
  DType dtype_ = DType::kFloat32;
  ExchangeKind kind_ = ExchangeKind::kSum;  // the first's
  bool is_mixed_ = false;
  bool is_in_order_ = true;
  bool registers_ = false;
  std::vector<std::size_t> parts_of_last_;  // what it puts on devices
  NcclCommunicators& communicators_;
  const std::vector<ncclComm_t>* comms_ = nullptr;
};

}  // namespace culprit::cuda
