#include "runtime/open_runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "cuda/cuda_device.hpp"
#include "runtime/build_parts.hpp"
#include "tensor/cpu_backend.hpp"

namespace culprit {
namespace {

// Index of "cuda" or "cuda:INDEX"; none for "cpu". Errors: UsageError.
std::optional<int> cuda_index(const std::string& device) {
  if (device == "cpu") return std::nullopt;
  if (device == "cuda") return 0;
  const std::string prefix = "cuda:";
  int index = 0;
  const char* end = device.data() + device.size();
  if (device.starts_with(prefix)) {
    const auto [stop, error] = std::from_chars(device.data() + prefix.size(), end, index);
    if (error == std::errc{} && stop == end && index >= 0) return index;
  }
  throw UsageError(fmt::format("--device: got '{}', expected cpu, cuda or cuda:INDEX", device));
}

std::unique_ptr<Device> open_cuda_device(int index) {
  if (!kBuiltWithCuda)
    throw UnavailableError(fmt::format("--device cuda: this build has no CUDA ({}); install the CUDA toolkit (nvcc, cuBLAS) and "
                                       "build again, or use --device cpu",
                                       kWhyNoCuda));
  const std::filesystem::path library =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libculprit_cuda.so";
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its code is used to the end
  if (!handle) throw UnavailableError(fmt::format("--device cuda: can't load the CUDA part: {}", dlerror()));
  const auto open = reinterpret_cast<OpenCudaDevice>(dlsym(handle, kOpenCudaDevice));
  if (!open) throw SetupError(fmt::format("--device cuda: {} is of another version", library.string()));
  std::exception_ptr error;
  std::unique_ptr<Device> device(open(index, &error));
  if (error) std::rethrow_exception(error);
  return device;
}

}  // namespace

std::vector<std::string> RuntimeChoice::flags() const {
  std::vector<std::string> list;
  if (device != "cpu") list.push_back("--device=" + device);
  if (comm != "local") list.push_back("--comm=" + comm);
  return list;
}

std::unique_ptr<Runtime> open_runtime(const RuntimeChoice& choice) {
  const std::optional<int> index = cuda_index(choice.device);
  if (choice.comm != "local") throw UsageError(fmt::format("--comm: got '{}', expected local", choice.comm));
  return make_local_runtime(index ? open_cuda_device(*index) : make_cpu_device());
}

}  // namespace culprit
