#include "runtime/open_runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "base/program_folder.hpp"
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

// `flag` is the one that asks for it, for messages.
std::unique_ptr<Device> open_device(const std::string& flag, const DeviceLibrary& part, int index) {
  const std::filesystem::path library = program_folder() / part.file;
  void* handle =
      dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its code is used to the end
  if (!handle)
    throw UnavailableError(fmt::format("{}: can't load what it needs: {}", flag, dlerror()));
  const auto open = reinterpret_cast<OpenDevice>(dlsym(handle, part.function));
  if (!open) throw SetupError(fmt::format("{}: {} is of another version", flag, library.string()));
  std::exception_ptr error;
  std::unique_ptr<Device> device(open(index, &error));
  if (error) std::rethrow_exception(error);
  return device;
}

void require_built(bool is_built, const std::string& flag, const char* why_not, const char* what,
                   const char* instead) {
  if (is_built) return;
  throw UnavailableError(
      fmt::format("{}: this build has none ({}); install {} and build again, or use {}", flag,
                  why_not, what, instead));
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
  if (choice.comm != "local" && choice.comm != "nccl")
    throw UsageError(fmt::format("--comm: got '{}', expected local or nccl", choice.comm));
  if (choice.comm == "nccl") {
    if (!index) throw UsageError("--comm nccl: NCCL moves GPU memory only; add --device cuda");
    require_built(kBuiltWithNccl, "--comm nccl", kWhyNoNccl, "the CUDA toolkit and NCCL",
                  "--comm local");
    return make_local_runtime(open_device("--comm nccl", kNcclLibrary, *index));
  }
  if (!index) return make_local_runtime(make_cpu_device());
  require_built(kBuiltWithCuda, "--device cuda", kWhyNoCuda, "the CUDA toolkit (nvcc, cuBLAS)",
                "--device cpu");
  return make_local_runtime(open_device("--device cuda", kCudaLibrary, *index));
}

}  // namespace culprit
