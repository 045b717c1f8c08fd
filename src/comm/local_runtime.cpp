#include <thread>

#include "comm/local_world.hpp"
#include "comm/runtime.hpp"
#include "tensor/cpu_backend.hpp"

namespace culprit {
namespace {

class LocalRuntime final : public Runtime {
 public:
  explicit LocalRuntime(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) override {
    return device_->make_backend(world_rank, dtype);
  }
  std::unique_ptr<World> make_world(int size) override {
    device_->require_room_for(size);
    // Looking out is not done where this job alone has more ranks than there are cores.
    const bool has_cores = std::thread::hardware_concurrency() >= static_cast<unsigned>(size);
    return std::make_unique<LocalWorld>(size, has_cores ? device_->patience()
                                                        : std::chrono::microseconds{});
  }
  std::string description() const override { return device_->description() + ", ranks as threads"; }

 private:
  std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Runtime> make_local_runtime(std::unique_ptr<Device> device) {
  return std::make_unique<LocalRuntime>(std::move(device));
}

Runtime& cpu_threads() {
  static LocalRuntime runtime(make_cpu_device());  // without state
  return runtime;
}

}  // namespace culprit
