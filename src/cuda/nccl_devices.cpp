#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/error.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/devices.hpp"
#include "cuda/nccl_backend.hpp"
#include "cuda/nccl_path.hpp"

namespace culprit::cuda {
namespace {

std::string nccl_version() {
  int version = 0;
  check_nccl(ncclGetVersion(&version), "ncclGetVersion");
  return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// A GPU a rank: world rank r on the r-th from `first` on.
class NcclDevices final : public Device {
 public:
  explicit NcclDevices(int first) : first_(first), communicators_(count_devices()) {
    require_device(first);
    for (int index = first; index < count_devices(); ++index)
      pools_.push_back(std::make_unique<ResourcePool>(kNcclBlocks));
  }
  std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) override {
    return std::make_unique<NcclBackend>(dtype, first_ + world_rank,
                                         *pools_.at(static_cast<std::size_t>(world_rank)),
                                         communicators_);
  }
  void require_room_for(int num_ranks) const override {
    const auto found = static_cast<int>(pools_.size());
    if (num_ranks <= found) return;
    throw UnavailableError(
        fmt::format("{} NCCL ranks need {} GPUs, {} found; --comm local runs {} ranks on one GPU",
                    num_ranks, num_ranks, found, num_ranks));
  }
  std::chrono::microseconds patience() const override { return kPatience; }
  std::string description() const override {
    return fmt::format("{} GPU{} from cuda:{} on ({}), {}", pools_.size(),
                       pools_.size() == 1 ? "" : "s", first_, describe_device(first_),
                       nccl_version());
  }

 private:
  int first_;
  std::vector<std::unique_ptr<ResourcePool>> pools_;  // by world rank
  NcclCommunicators communicators_;                   // goes before the streams that it uses
};

// The GPU of the one rank that this process is.
class NcclRankDevice final : public PathDevice {
 public:
  explicit NcclRankDevice(int index) : index_(index), path_(index) { require_device(index); }
  std::unique_ptr<Backend> make_backend(int, DType dtype) override {
    return std::make_unique<NcclRankBackend>(dtype, index_, pool_);
  }
  void require_room_for(int) const override {}  // one rank
  std::string description() const override {
    return fmt::format("cuda:{} ({}), {}", index_, describe_device(index_), nccl_version());
  }
  DataPath& path() override { return path_; }

 private:
  int index_;
  ResourcePool pool_;
  NcclPath path_;  // goes before the streams that it uses
};

}  // namespace
}  // namespace culprit::cuda

extern "C" __attribute__((visibility("default"))) culprit::Device* culprit_open_nccl_devices(
    int index, std::exception_ptr* error) {
  try {
    return new culprit::cuda::NcclDevices(index);
  } catch (...) {
    *error = std::current_exception();
    return nullptr;
  }
}

extern "C" __attribute__((visibility("default"))) culprit::Device* culprit_open_nccl_rank(
    int index, std::exception_ptr* error) {
  try {
    return new culprit::cuda::NcclRankDevice(index);
  } catch (...) {
    *error = std::current_exception();
    return nullptr;
  }
}
