#include "cuda/cuda_device.hpp"

#include <fmt/format.h>

#include "cuda/cuda_backend.hpp"
#include "cuda/devices.hpp"

namespace culprit::cuda {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) { require_device(index); }
  std::unique_ptr<Backend> make_backend(int, DType dtype) override {
    return std::make_unique<CudaBackend>(dtype, index_, pool_);
  }
  void require_room_for(int) const override {}  // as many as its memory holds
  std::chrono::microseconds patience() const override { return kPatience; }
  std::string description() const override {
    return fmt::format("cuda:{} ({})", index_, describe_device(index_));
  }

 private:
  int index_;
  ResourcePool pool_;
};

}  // namespace
}  // namespace culprit::cuda

extern "C" __attribute__((visibility("default"))) culprit::Device* culprit_open_cuda_device(
    int index, std::exception_ptr* error) {
  try {
    return new culprit::cuda::CudaDevice(index);
  } catch (...) {
    *error = std::current_exception();
    return nullptr;
  }
}
