#include "cuda/nccl_communicators.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/check.hpp"

namespace culprit::cuda {
namespace {

// A cell's one step gains nothing by it, and it takes milliseconds.
constexpr int kMeetingsBeforeRegistration = 2;  // the last of them included
constexpr std::size_t kMostMeetings = 64;  // kept in mind; what meets first after that is never registered

}  // namespace

OnDevice::OnDevice(int device) {
  check(cudaGetDevice(&before_), "cudaGetDevice");
  if (before_ != device) check(cudaSetDevice(device), "cudaSetDevice");
}
OnDevice::~OnDevice() { cudaSetDevice(before_); }

NcclGroup::NcclGroup() { check_nccl(ncclGroupStart(), "ncclGroupStart"); }
NcclGroup::~NcclGroup() {
  if (is_open_) ncclGroupEnd();
}
void NcclGroup::end() {
  is_open_ = false;
  check_nccl(ncclGroupEnd(), "ncclGroupEnd");
}

NcclCommunicators::~NcclCommunicators() {
  if (!gave_up_) abort_all();
}

void NcclCommunicators::give_up(Trouble cause) noexcept {
  const std::lock_guard lock(mutex_);
  if (gave_up_) return;
  cause_ = std::move(cause);
  gave_up_ = true;
  abort_all();
}
void NcclCommunicators::abort_all() noexcept {
  for (const auto& [group, comms] : made_)
    for (const ncclComm_t comm : comms)
      ncclCommAbort(comm);  // also where a device call failed half way
}
void NcclCommunicators::require_sound() const {
  if (gave_up_) cause_.raise();
}

const std::vector<ncclComm_t>& NcclCommunicators::of(const std::vector<int>& devices, Use use) {
  const std::lock_guard lock(mutex_);
  require_sound();
  auto& comms = made_[{devices, use}];
  if (!comms.empty()) return comms;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (use != Use::kInOrder) {
    config.maxCTAs = kBesideMultiprocessors;
    config.cgaClusterSize = 0;  // a cluster waits until that many neighbours are free
  }
  ncclUniqueId id;
  check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::vector<ncclComm_t> fresh(devices.size());
  for (const int device : devices) const OnDevice can_be_used(device);  // before others wait for it
  NcclGroup group;
  for (std::size_t m = 0; m < devices.size(); ++m) {
    const OnDevice there(devices[m]);
    check_nccl(ncclCommInitRankConfig(&fresh[m], static_cast<int>(devices.size()), id,
                                      static_cast<int>(m), &config),
               "ncclCommInitRankConfig");
  }
  group.end();
  comms = std::move(fresh);
  return comms;
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
NcclCommunicators::Registration NcclCommunicators::meet(
    const std::vector<const std::byte*>& blocks) {
  const std::lock_guard lock(mutex_);
  const auto known = meetings_.find(blocks);
  if (known == meetings_.end()) {
    if (meetings_.size() < kMostMeetings) meetings_.emplace(blocks, 1);
    return Registration::kNone;
  }
  if (++known->second > kMeetingsBeforeRegistration) return Registration::kDone;
  const bool is_free = std::none_of(blocks.begin(), blocks.end(), [&](const std::byte* block) {
    return registered_.count(block) > 0;
  });
  if (!is_free) {
    known->second = 1;  // stays as it is
    return Registration::kNone;
  }
  registered_.insert(blocks.begin(), blocks.end());
  return Registration::kDue;
}
void NcclCommunicators::register_blocks(const std::vector<ncclComm_t>& comms,
                                        const std::vector<const std::byte*>& blocks,
                                        std::size_t bytes) {
  std::vector<ncclWindow_t> windows(comms.size());  // they go with their communicators
  NcclGroup group;
  for (std::size_t m = 0; m < comms.size(); ++m)
    check_nccl(ncclCommWindowRegister(comms[m], const_cast<std::byte*>(blocks[m]), bytes,
                                      &windows[m], NCCL_WIN_COLL_SYMMETRIC),
               "ncclCommWindowRegister");
  group.end();
}
#else
NcclCommunicators::Registration NcclCommunicators::meet(const std::vector<const std::byte*>&) {
  return Registration::kNone;
}
void NcclCommunicators::register_blocks(const std::vector<ncclComm_t>&,
                                        const std::vector<const std::byte*>&, std::size_t) {}
#endif

const BlockSource kNcclBlocks{
    .allocate =
        [](std::size_t bytes) {
          void* data = nullptr;
          if (ncclMemAlloc(&data, bytes) != ncclSuccess) cudaGetLastError();
          return static_cast<std::byte*>(data);
        },
    .release =
        [](std::byte* data) {
          cudaDeviceSynchronize();  // unlike cudaFree it waits for nobody
          ncclMemFree(data);
        }};

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  throw SetupError(fmt::format("[nccl] {}: {}, {}", call, ncclGetErrorString(result),
                               ncclGetLastError(nullptr)));
}

}  // namespace culprit::cuda
