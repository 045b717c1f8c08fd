#include "cuda/devices.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "cuda/check.hpp"

namespace culprit::cuda {
namespace {

constexpr const char* kElsewhere = "--device cpu runs everywhere";

std::string version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

}  // namespace

int count_devices() {
  int count = 0, driver = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  cudaDriverGetVersion(&driver);
  if (driver == 0)
    throw UnavailableError(
        fmt::format("--device cuda: this machine has no NVIDIA driver; {}", kElsewhere));
  if (result == cudaErrorInsufficientDriver)
    throw UnavailableError(
        fmt::format("--device cuda: the NVIDIA driver supports CUDA {}, this build needs {}; {}",
                    version(driver), version(CUDART_VERSION), kElsewhere));
  if (result != cudaSuccess && result != cudaErrorNoDevice)
    throw UnavailableError(fmt::format("--device cuda: the driver gives no device ({}: {}); {}",
                                       cudaGetErrorName(result), cudaGetErrorString(result),
                                       kElsewhere));
  if (count == 0)
    throw UnavailableError(fmt::format("--device cuda: no CUDA device found; {}", kElsewhere));
  return count;
}

void require_device(int index) {
  const int count = count_devices();
  if (index < count) return;
  throw UnavailableError(
      fmt::format("--device cuda:{}: this machine has {} CUDA device{}, the last is cuda:{}", index,
                  count, count == 1 ? "" : "s", count - 1));
}

std::string describe_device(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return fmt::format("{}, driver for CUDA {}, CUDA {}", properties.name, version(driver),
                     version(runtime));
}

}  // namespace culprit::cuda
