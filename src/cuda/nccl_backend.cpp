#include "cuda/nccl_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cuda/check.hpp"
#include "cuda/kernels.hpp"
#include "cuda/nccl_type.hpp"

namespace culprit::cuda {
namespace {

// Makes `device` the thread's for a scope: events and communicators belong to the device that is
// current when they are made.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

class NcclParcel final : public Parcel {
 public:
  NcclParcel(ParcelPool& sender_pool, std::unique_ptr<ParcelPool::Block> sent, int from_device,
             cudaStream_t from_stream)
      : pool(sender_pool), block(std::move(sent)), device(from_device), stream(from_stream) {}
  ~NcclParcel() override { pool.give_back(std::move(block)); }

  ParcelPool& pool;
  std::unique_ptr<ParcelPool::Block> block;
  int device;           // the sender's
  cudaStream_t stream;  // its stream for transfers
};

class NcclExchange final : public Exchange {
 public:
  NcclExchange(std::size_t num_members, NcclCommunicators& communicators)
      : members_(num_members), communicators_(communicators) {}

  void give(std::size_t member, Backend& backend, ExchangeKind kind, const std::byte* mine,
            std::byte* result, std::int64_t num_elements) override {
    Member& entry = members_[member];
    entry.backend = &static_cast<NcclBackend&>(backend);
    entry.device = entry.backend->device();
    entry.stream = entry.backend->comm_stream();
    entry.kind = kind;
    entry.mine = mine;
    entry.result = result;
    entry.num_elements = num_elements;
    dtype_ = backend.dtype();
    entry.ready.emplace();
    entry.ready->record(entry.backend->stream());
  }

  void complete() override {
    std::vector<int> devices;
    for (const Member& member : members_) devices.push_back(member.device);
    const auto lock = communicators_.lock();
    const std::vector<ncclComm_t>& comms = communicators_.of(devices);
    for (const Member& member : members_) member.ready->make_wait(member.stream);
    const bool is_mixed = std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      return member.kind != members_[0].kind;
    });
    if (is_mixed)
      exchange_mixed(comms);
    else if (members_[0].kind == ExchangeKind::kSum)
      in_group([&](std::size_t m, const Member& member) {
        return ncclAllReduce(member.mine, member.result, member.count(), nccl_type(dtype_), ncclSum,
                             comms[m], member.stream);
      });
    else
      in_group([&](std::size_t m, const Member& member) {
        return ncclAllGather(member.mine, member.result, member.count(), nccl_type(dtype_),
                             comms[m], member.stream);
      });
    for (Member& member : members_) {
      const OnDevice scope(member.device);
      member.done.emplace();
      member.done->record(member.stream);
    }
    complete_ = true;
  }

  void take(std::size_t member) override {
    members_[member].done->make_wait(members_[member].backend->stream());
  }

  void abandon(std::size_t member) override {
    if (complete_) return take(member);  // its memory is in use until then
    Member& entry = members_[member];
    const std::size_t mine = static_cast<std::size_t>(entry.num_elements) * size_of(dtype_);
    entry.substitute = std::make_unique<DeviceBlock>(
        mine + (entry.kind == ExchangeKind::kSum ? mine : mine * members_.size()));
    const cudaStream_t stream = entry.backend->stream();
    check(cudaMemcpyAsync(entry.substitute->data(), entry.mine, mine, cudaMemcpyDeviceToDevice,
                          stream),
          "cudaMemcpyAsync");
    entry.mine = entry.substitute->data();
    entry.result = entry.substitute->data() + mine;
    entry.ready->record(stream);
  }

 private:
  struct Member {
    NcclBackend* backend = nullptr;  // not to be used by others: its rank may have left
    int device = 0;
    cudaStream_t stream = nullptr;
    ExchangeKind kind = ExchangeKind::kSum;
    const std::byte* mine = nullptr;
    std::byte* result = nullptr;
    std::int64_t num_elements = 0;
    std::optional<Event> ready, done;
    std::unique_ptr<DeviceBlock> substitute;  // for memory that was abandoned
    std::unique_ptr<DeviceBlock> gathered;    // all members' memory, where kinds are mixed
    std::size_t count() const { return static_cast<std::size_t>(num_elements); }
  };

  template <class Call>
  void in_group(Call call) {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t m = 0; m < members_.size(); ++m)
      check_nccl(call(m, members_[m]), "collective");
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
  }
  // NCCL has no collective in which members ask for different things: everyone gathers, then takes
  // what it asked for.
  void exchange_mixed(const std::vector<ncclComm_t>& comms) {
    const std::size_t part = members_[0].count() * size_of(dtype_);
    for (Member& member : members_) {
      const OnDevice scope(member.device);
      member.gathered = std::make_unique<DeviceBlock>(part * members_.size());
    }
    in_group([&](std::size_t m, const Member& member) {
      return ncclAllGather(member.mine, member.gathered->data(), member.count(), nccl_type(dtype_),
                           comms[m], member.stream);
    });
    for (const Member& member : members_) {
      const OnDevice scope(member.device);
      if (member.kind == ExchangeKind::kGather) {
        check(cudaMemcpyAsync(member.result, member.gathered->data(), part * members_.size(),
                              cudaMemcpyDeviceToDevice, member.stream),
              "cudaMemcpyAsync");
        continue;
      }
      Members pointers;
      for (std::size_t m = 0; m < members_.size(); ++m)
        pointers.mine[pointers.num_mine++] = member.gathered->data() + m * part;
      pointers.result[pointers.num_results++] = member.result;
      sum_members(dtype_, member.stream, pointers, member.num_elements);
    }
  }

  DType dtype_ = DType::kFloat32;
  std::vector<Member> members_;
  NcclCommunicators& communicators_;
  bool complete_ = false;
};

}  // namespace

NcclCommunicators::~NcclCommunicators() {
  for (const auto& [devices, comms] : made_)
    for (const ncclComm_t comm : comms)
      ncclCommAbort(comm);  // also where a device call failed half way
}

const std::vector<ncclComm_t>& NcclCommunicators::of(const std::vector<int>& devices) {
  auto& comms = made_[devices];
  if (comms.empty()) {
    std::vector<ncclComm_t> fresh(devices.size());
    check_nccl(ncclCommInitAll(fresh.data(), static_cast<int>(devices.size()), devices.data()),
               "ncclCommInitAll");
    comms = std::move(fresh);
  }
  return comms;
}

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw SetupError(fmt::format("[nccl] {}: {}, {}", call, ncclGetErrorString(result),
                               ncclGetLastError(nullptr)));
}

std::unique_ptr<Parcel> NcclBackend::parcel_of(std::unique_ptr<ParcelPool::Block> block) {
  return std::make_unique<NcclParcel>(parcels(), std::move(block), device_, comm_stream());
}
ParcelPool::Block& NcclBackend::block_of(Parcel& parcel) {
  return *static_cast<NcclParcel&>(parcel).block;
}

void NcclBackend::unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) {
  auto& sent = static_cast<NcclParcel&>(parcel);
  if (sent.device == device_)
    return copy_from(*sent.block, c, num_elements);  // to itself: NCCL refuses one device twice
  Event ready, done;
  ready.record(stream());  // whoever used the memory of `c` before
  ready.make_wait(comm_stream());
  {
    const auto lock = communicators_.lock();
    const std::vector<ncclComm_t>& comms = communicators_.of({sent.device, device_});
    const auto count = static_cast<std::size_t>(num_elements);
    const OnDevice scope(sent.device);
    sent.block->last_use.make_wait(sent.stream);
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    check_nccl(
        ncclSend(sent.block->memory.data(), count, nccl_type(dtype()), 1, comms[0], sent.stream),
        "ncclSend");
    check_nccl(ncclRecv(c, count, nccl_type(dtype()), 0, comms[1], comm_stream()), "ncclRecv");
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    sent.block->last_use.record(sent.stream);
  }
  done.record(comm_stream());
  done.make_wait(stream());
}

std::unique_ptr<Exchange> NcclBackend::make_exchange(std::size_t num_members) {
  return std::make_unique<NcclExchange>(num_members, communicators_);
}

}  // namespace culprit::cuda
