#include "cuda/nccl_exchange.hpp"

#include <ranges>
#include <thread>

#include "cuda/check.hpp"
#include "cuda/nccl_own_kind.hpp"
#include "cuda/nccl_type.hpp"

namespace culprit::cuda {

void NcclExchange::give(std::size_t member, Backend& backend, const CollectiveCall& call) {
  Member& entry = members_[member];
  entry.backend = &static_cast<NcclBackend&>(backend);
  entry.device = entry.backend->device();
  entry.call = call;
  dtype_ = backend.dtype();
  last_ = member;
  devices_[member] = entry.device;
  if (num_given_++ == 0) kind_ = call.kind;
  is_mixed_ |= call.kind != kind_;
  is_in_order_ &= call.in_order;
  if (call.in_order) {
    entry.stream = entry.backend->stream();
    return;
  }
  entry.stream = entry.backend->comm_stream();
  entry.is_block = entry.backend->is_direct_block(call.mine);
  entry.ready.emplace();
  entry.begins.emplace();
  entry.done.emplace();
  entry.ready->record(entry.backend->stream());
  entry.backend->collective_begins();
}

void NcclExchange::complete(std::uint64_t attends) {
  using Registration = NcclCommunicators::Registration;
  const Registration registration = meet();
  registers_ = registration == Registration::kDue;
  NcclCommunicators::Use use = NcclCommunicators::Use::kInOrder;
  if (!is_in_order_)
    use = registration == Registration::kNone ? NcclCommunicators::Use::kBeside
                                              : NcclCommunicators::Use::kRegistered;
  comms_ = &members_[last_].backend->communicators(devices_, use);
  for (std::size_t m = 0; m < num_members_; ++m)
    if (m == last_ || registers_ || m >= kMostAttending || (attends >> m & 1) == 0)
      parts_of_last_.push_back(m);
  const auto all = communicators_.order().lock();
  for (std::size_t m = 0; m < num_members_; ++m)
    members_[m].turn = communicators_.order().next_turn(devices_[m]);
}

NcclCommunicators::Registration NcclExchange::meet() const {
  constexpr auto kNone = NcclCommunicators::Registration::kNone;
  if (is_in_order_ || is_mixed_ || kind_ != ExchangeKind::kSum || part_bytes() < kDirectBytes)
    return kNone;
  std::vector<const std::byte*> blocks;
  for (const Member& member : members()) {
    if (!member.is_block || member.substitute) return kNone;
    blocks.push_back(member.call.mine);
  }
  return communicators_.meet(blocks);
}

void NcclExchange::launch(std::size_t member) {
  if (member != last_ && registers_) return;
  const std::span<const std::size_t> own(&member, 1),
      parts = member == last_ ? std::span<const std::size_t>(parts_of_last_) : own;
  try {
    communicators_.put_in_turn(
        parts | std::views::transform([this](std::size_t m) { return members_[m].turn; }),
        [&] { put_on_devices(parts); });
  } catch (...) {
    for (const std::size_t m : parts) {
      members_[m].failure = trouble_of(std::current_exception());
      members_[m].state = State::kFailed;
    }
    throw;
  }
  for (const std::size_t m : parts) members_[m].state = State::kLaunched;
  // What this rank does next would else take all multiprocessors in the moment between.
  if (members_[member].begins) members_[member].begins->make_wait(members_[member].backend->stream());
}

void NcclExchange::take(std::size_t member) {
  const Member& entry = members_[member];
  while (entry.state == State::kGiven) std::this_thread::yield();  // somebody is at it
  if (entry.done) entry.backend->collective_ends();
  if (entry.state == State::kFailed) entry.failure->raise();
  if (registers_) entry.backend->keep_block(entry.call.mine);
  if (entry.done) entry.done->make_wait(entry.backend->stream());
}

void NcclExchange::abandon(std::size_t member) {
  Member& entry = members_[member];
  if (entry.done) entry.backend->collective_ends();
  const std::size_t mine = entry.count() * size_of(dtype_);
  entry.substitute = std::make_unique<DeviceBlock>(
      mine + (entry.call.kind == ExchangeKind::kSum ? mine : mine * num_members_));
  const cudaStream_t stream = entry.backend->stream();
  check(cudaMemcpyAsync(entry.substitute->data(), entry.call.mine, mine, cudaMemcpyDeviceToDevice,
                        stream),
        "cudaMemcpyAsync");
  entry.call.mine = entry.substitute->data();
  entry.call.result = entry.substitute->data() + mine;
  if (entry.ready) entry.ready->record(stream);
}

void NcclExchange::put_on_devices(std::span<const std::size_t> parts) {
  if (registers_) {
    std::vector<const std::byte*> blocks;
    for (const Member& member : members()) blocks.push_back(member.call.mine);
    NcclCommunicators::register_blocks(*comms_, blocks, part_bytes());
  }
  for (const std::size_t m : parts) {
    Member& member = members_[m];
    if (member.ready) member.ready->make_wait(member.stream);
    if (member.begins) member.begins->record(member.stream);
    if (!is_mixed_) continue;
    const OnDevice there(member.device);
    member.gathered = std::make_unique<DeviceBlock>(part_bytes() * num_members_);
  }
  std::optional<NcclGroup> group;
  if (parts.size() > 1) group.emplace();
  for (const std::size_t m : parts) {
    communicators_.require_sound();  // a peer may have given up meanwhile
    check_nccl(call(m), "collective");
  }
  if (group) group->end();
  for (const std::size_t m : parts) {
    Member& member = members_[m];
    if (is_mixed_) {
      const OnDevice there(member.device);
      take_own_kind(dtype_, member.stream, member.call, member.gathered->data(), num_members_);
    }
    if (member.done) member.done->record(member.stream);
  }
}

ncclResult_t NcclExchange::call(std::size_t m) const {
  const Member& member = members_[m];
  const ncclComm_t comm = (*comms_)[m];
  const ncclDataType_t type = nccl_type(dtype_);
  if (is_mixed_)
    return ncclAllGather(member.call.mine, member.gathered->data(), member.count(), type, comm,
                         member.stream);
  if (member.call.kind == ExchangeKind::kGather)
    return ncclAllGather(member.call.mine, member.call.result, member.count(), type, comm,
                         member.stream);
  return ncclAllReduce(member.call.mine, member.call.result, member.count(), type, ncclSum, comm,
                       member.stream);
}

}  // namespace culprit::cuda
