#include "cuda/nccl_path.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cuda/check.hpp"
#include "cuda/nccl_communicators.hpp"
#include "cuda/nccl_own_kind.hpp"
#include "cuda/nccl_type.hpp"

namespace culprit::cuda {
namespace {

using Clock = std::chrono::steady_clock;
// For NCCL to take a call over, a group's first meeting included.
constexpr std::chrono::seconds kCallDeadline{60};

class CollectivePart final : public PathPart {
 public:
  CollectivePart(NcclPath& path, NcclRankBackend& backend, const std::vector<int>& members,
                 std::size_t me, const CollectiveCall& collective)
      : path_(path),
        backend_(backend),
        stream_(backend.comm_stream()),
        dtype_(backend.dtype()),
        members_(members),
        me_(static_cast<int>(me)),
        collective_(collective) {
    ready_.record(backend.stream());
  }

  void launch(const std::string& token, bool kinds_differ) override {
    const std::lock_guard lock(mutex_);
    if (is_lost_)
      throw SetupError("[nccl] a collective's memory is gone and could not be replaced");
    path_.run(members_, me_, token, "collective", [&](ncclComm_t comm) {
      ready_.make_wait(stream_);
      if (kinds_differ) gathered_ = std::make_unique<DeviceBlock>(part_bytes() * members_.size());
      if (kinds_differ || collective_.kind == ExchangeKind::kGather)
        return ncclAllGather(collective_.mine,
                             kinds_differ ? gathered_->data() : collective_.result, count(),
                             nccl_type(dtype_), comm, stream_);
      return ncclAllReduce(collective_.mine, collective_.result, count(), nccl_type(dtype_),
                           ncclSum, comm, stream_);
    });
    if (kinds_differ)
      take_own_kind(dtype_, stream_, collective_, gathered_->data(), members_.size());
    done_.record(stream_);
    launched_ = true;
  }
  void take() override { done_.make_wait(backend_.stream()); }
  void abandon() override {
    const std::lock_guard lock(mutex_);
    if (launched_) return take();  // its memory is in use until then
    is_lost_ = true;               // until it is replaced
    substitute_ = std::make_unique<DeviceBlock>(
        part_bytes() * (1 + (collective_.kind == ExchangeKind::kSum ? 1 : members_.size())));
    check(cudaMemcpyAsync(substitute_->data(), collective_.mine, part_bytes(),
                          cudaMemcpyDeviceToDevice, backend_.stream()),
          "cudaMemcpyAsync");
    collective_.mine = substitute_->data();
    collective_.result = substitute_->data() + part_bytes();
    ready_.record(backend_.stream());
    is_lost_ = false;
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(collective_.num_elements); }
  std::size_t part_bytes() const { return count() * size_of(dtype_); }

  NcclPath& path_;
  NcclRankBackend& backend_;  // the rank's alone, which may be gone at the launch
  cudaStream_t stream_;
  DType dtype_;
  std::vector<int> members_;
  int me_;
  CollectiveCall collective_;
  std::mutex mutex_;  // launch() against abandon()
  bool launched_ = false, is_lost_ = false;
  Event ready_, done_;
  std::unique_ptr<DeviceBlock> substitute_;  // for memory that was abandoned
  std::unique_ptr<DeviceBlock> gathered_;    // all members' memory, where kinds differ
};

class SendPart final : public PathPart {
 public:
  SendPart(NcclPath& path, NcclRankBackend& backend, int me, int to, std::shared_ptr<Parcel> parcel,
           std::int64_t num_elements)
      : path_(path),
        block_(backend.block_of(*parcel)),
        parcel_(std::move(parcel)),
        stream_(backend.comm_stream()),
        type_(nccl_type(backend.dtype())),
        members_{me, to},
        count_(static_cast<std::size_t>(num_elements)) {}
  void launch(const std::string& token, bool) override {
    path_.run(members_, 0, token, "ncclSend", [&](ncclComm_t comm) {
      block_.last_use.make_wait(stream_);
      return ncclSend(block_.memory.data(), count_, type_, 1, comm, stream_);
    });
    block_.last_use.record(stream_);
  }
  void take() override {}
  void abandon() override {}

 private:
  NcclPath& path_;
  ParcelPool::Block& block_;  // the parcel's
  std::shared_ptr<Parcel> parcel_;
  cudaStream_t stream_;
  ncclDataType_t type_;
  std::vector<int> members_;
  std::size_t count_;
};

class ReceivePart final : public PathPart {
 public:
  ReceivePart(NcclPath& path, NcclRankBackend& backend, int me, int from, std::byte* data,
              std::int64_t num_elements)
      : path_(path),
        backend_(backend),
        stream_(backend.comm_stream()),
        type_(nccl_type(backend.dtype())),
        members_{from, me},
        data_(data),
        count_(static_cast<std::size_t>(num_elements)) {
    ready_.record(backend.stream());  // whoever used the memory before
  }
  void launch(const std::string& token, bool) override {
    path_.run(members_, 1, token, "ncclRecv", [&](ncclComm_t comm) {
      ready_.make_wait(stream_);
      return ncclRecv(data_, count_, type_, 0, comm, stream_);
    });
    done_.record(stream_);
  }
  void take() override { done_.make_wait(backend_.stream()); }
  void abandon() override {}

 private:
  NcclPath& path_;
  NcclRankBackend& backend_;  // the rank's alone
  cudaStream_t stream_;
  ncclDataType_t type_;
  std::vector<int> members_;
  std::byte* data_;
  std::size_t count_;
  Event ready_, done_;
};

}  // namespace

NcclPath::~NcclPath() {
  if (!aborted_) abort();  // also where a device call failed half way
}

std::string NcclPath::token(const std::vector<int>& members) {
  const std::lock_guard lock(mutex_);
  if (made_.count(members) > 0) return {};
  std::string& bytes = tokens_[members];
  if (bytes.empty()) {
    ncclUniqueId id;
    check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    bytes.assign(id.internal, sizeof(id.internal));
  }
  return bytes;
}

std::shared_ptr<PathPart> NcclPath::start(Backend& backend, const std::vector<int>& members,
                                          std::size_t me, int, const CollectiveCall& collective) {
  return std::make_shared<CollectivePart>(*this, static_cast<NcclRankBackend&>(backend), members,
                                          me, collective);
}
std::shared_ptr<PathPart> NcclPath::send(Backend& backend, int me, int to, int,
                                         std::shared_ptr<Parcel> parcel,
                                         std::int64_t num_elements) {
  return std::make_shared<SendPart>(*this, static_cast<NcclRankBackend&>(backend), me, to,
                                    std::move(parcel), num_elements);
}
std::shared_ptr<PathPart> NcclPath::receive(Backend& backend, int me, int from, int,
                                            std::byte* data, std::int64_t num_elements) {
  return std::make_shared<ReceivePart>(*this, static_cast<NcclRankBackend&>(backend), me, from,
                                       data, num_elements);
}

void NcclPath::abort() noexcept {
  aborted_ = true;
  const std::lock_guard lock(mutex_);
  cudaSetDevice(device_);
  for (const auto& [members, comm] : made_) ncclCommAbort(comm);
  made_.clear();
}

void NcclPath::use_device() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

ncclComm_t NcclPath::communicator(std::unique_lock<std::mutex>& lock,
                                  const std::vector<int>& members, int me,
                                  const std::string& token) {
  require_going_on();
  const auto found = made_.find(members);
  if (found != made_.end()) return found->second;
  ncclUniqueId id;
  if (token.size() != sizeof(id.internal))
    throw SetupError("[nccl] a group has met without its first member's id");
  token.copy(id.internal, sizeof(id.internal));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t result =
      ncclCommInitRankConfig(&comm, static_cast<int>(members.size()), id, me, &config);
  if (!comm) check_nccl(result, "ncclCommInitRankConfig");
  made_[members] = comm;
  tokens_.erase(members);
  settle(lock, comm, result, "ncclCommInitRankConfig");
  return comm;
}

void NcclPath::settle(std::unique_lock<std::mutex>& lock, ncclComm_t comm, ncclResult_t result,
                      const char* name) {
  const auto deadline = Clock::now() + kCallDeadline;
  const auto soon = Clock::now() + std::chrono::milliseconds(1);
  while (result == ncclInProgress) {
    lock.unlock();
    if (Clock::now() < soon)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
    require_going_on();
    if (Clock::now() > deadline)
      throw SetupError(
          fmt::format("[nccl] {} was not taken over within {} s", name, kCallDeadline.count()));
    check_nccl(ncclCommGetAsyncError(comm, &result), "ncclCommGetAsyncError");
  }
  check_nccl(result, name);
}

void NcclPath::require_going_on() const {
  if (aborted_) throw PathAborted();
}

}  // namespace culprit::cuda
