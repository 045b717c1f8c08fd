#include "cuda/cuda_device.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "cuda/check.hpp"
#include "cuda/cuda_backend.hpp"

namespace culprit::cuda {
namespace {

constexpr const char* kElsewhere = "--device cpu runs everywhere";

// How many devices there are. Errors: UnavailableError.
int count_devices() {
  int count = 0, driver = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  if (driver == 0) throw UnavailableError(fmt::format("--device cuda: this machine has no NVIDIA driver; {}", kElsewhere));
  if (result == cudaErrorInsufficientDriver)
    throw UnavailableError(fmt::format("--device cuda: the NVIDIA driver supports CUDA {}.{}, this build needs {}.{}; {}",
                                       driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                                       CUDART_VERSION % 1000 / 10, kElsewhere));
  if (result != cudaSuccess && result != cudaErrorNoDevice)
    throw UnavailableError(fmt::format("--device cuda: the driver gives no device ({}: {}); {}", cudaGetErrorName(result),
                                       cudaGetErrorString(result), kElsewhere));
  if (count == 0) throw UnavailableError(fmt::format("--device cuda: no CUDA device found; {}", kElsewhere));
  return count;
}

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index) {
    const int count = count_devices();
    if (index >= count)
      throw UnavailableError(fmt::format("--device cuda:{}: this machine has {} CUDA device{}, the last is cuda:{}", index,
                                         count, count == 1 ? "" : "s", count - 1));
    check(cudaSetDevice(index), "cudaSetDevice");
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    description_ = fmt::format("cuda:{} ({}, driver for CUDA {}, CUDA {}, cuBLAS {})", index, properties.name,
                               version(driver), version(runtime), cublasGetCudartVersion() / 1000);
  }
  std::unique_ptr<Backend> make_backend(DType dtype) override {
    return std::make_unique<CudaBackend>(dtype, index_, pool_);
  }
  std::string description() const override { return description_; }

 private:
  int index_;
  ResourcePool pool_;
  std::string description_;
};

}  // namespace
}  // namespace culprit::cuda

extern "C" __attribute__((visibility("default"))) culprit::Device* culprit_open_cuda_device(int index,
                                                                                             std::exception_ptr* error) {
  try {
    return new culprit::cuda::CudaDevice(index);
  } catch (...) {
    *error = std::current_exception();
    return nullptr;
  }
}
