#include "runtime/open_runtime.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <random>
#include <sstream>

#include "base/error.hpp"
#include "base/program_folder.hpp"
#include "cuda/cuda_device.hpp"
#include "mpi/mpi_job.hpp"
#include "multiprocess/process_runtime.hpp"
#include "runtime/build_parts.hpp"
#include "tensor/cpu_backend.hpp"

namespace culprit {
namespace {

// For the processes of a job to meet, and for one that can't take part.
constexpr std::chrono::seconds kMeeting{60}, kMeetingToTell{10};

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

// The function of that name in a library beside the program. `flag` is the one that asks for it,
// for messages.
void* open_library(const std::string& flag, const char* file, const char* function) {
  const std::filesystem::path library = program_folder() / file;
  void* handle =
      dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: its code is used to the end
  if (!handle)
    throw UnavailableError(fmt::format("{}: can't load what it needs: {}", flag, dlerror()));
  void* found = dlsym(handle, function);
  if (!found) throw SetupError(fmt::format("{}: {} is of another version", flag, library.string()));
  return found;
}

std::unique_ptr<Device> open_device(const std::string& flag, const DeviceLibrary& part, int index) {
  const auto open = reinterpret_cast<OpenDevice>(open_library(flag, part.file, part.function));
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

std::shared_ptr<MpiJob> open_mpi(const std::string& flag) {
  const auto open = reinterpret_cast<OpenMpi>(open_library(flag, kMpiLibrary, kMpiFunction));
  std::exception_ptr error;
  std::shared_ptr<MpiJob> job(open(&error));
  if (error) std::rethrow_exception(error);
  const auto launcher = mpi_launch_environment();
  if (job->size() == 1 && launcher && launcher->size > 1)
    throw UsageError(fmt::format(
        "{}: {} started {} processes, but MPI ({}) knows of one; start them with that MPI's mpirun",
        flag, launcher->launcher, launcher->size, job->description()));
  return job;
}

std::string random_key() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// The processes of an MPI job meet at a port that rank 0 chooses and tells the others through MPI.
std::unique_ptr<JobLink> meet_through_mpi(MpiJob& job, std::chrono::milliseconds stall_deadline) {
  std::optional<Listener> listener;
  std::string address = "127.0.0.1", told;
  if (job.rank() == 0) {
    std::array<char, 256> name{};
    if (!job.is_one_node() && gethostname(name.data(), name.size() - 1) == 0)
      address = name.data();
    listener.emplace(job.is_one_node() ? address : "", 0);
    told = fmt::format("{} {} {}", address, listener->port(), random_key());
  }
  std::istringstream words(job.broadcast(told));
  JobSettings settings{
      .rank = job.rank(), .size = job.size(), .address = {}, .key = {},
      .stall_deadline = stall_deadline};
  words >> settings.address >> settings.port >> settings.key;
  try {
    return std::make_unique<JobLink>(settings, std::move(listener));
  } catch (const Error&) {
    job.path().abort();  // the others may be gone: MPI's end is not waited for
    throw;
  }
}

std::unique_ptr<Runtime> open_mpi_runtime(std::chrono::milliseconds stall_deadline) {
  std::shared_ptr<MpiJob> job = open_mpi("--comm mpi");
  std::unique_ptr<JobLink> link = meet_through_mpi(*job, stall_deadline);
  DataPath& path = job->path();
  return make_process_runtime(std::move(job), std::move(link), make_cpu_device(), path);
}

// A rank of a job whose launcher started a process for each.
std::unique_ptr<Runtime> open_nccl_rank(const LaunchEnvironment& environment, int first_index,
                                        std::chrono::milliseconds stall_deadline) {
  std::shared_ptr<MpiJob> job;
  if (!environment.address) {
    if (!kBuiltWithMpi)
      throw UnavailableError(
          fmt::format("--comm nccl: {} started {} processes, which meet through MPI or at "
                      "MASTER_ADDR and MASTER_PORT; this build has no MPI ({}), and those are not "
                      "set",
                      environment.launcher, environment.size, kWhyNoMpi));
    job = open_mpi("--comm nccl");
  }
  const int local_rank = job ? job->local_rank() : environment.local_rank;
  // A process without a GPU must not leave the others waiting for it: it meets them, to tell them.
  std::unique_ptr<Device> device;
  std::string lacks;
  try {
    device = open_device("--comm nccl", kNcclRankLibrary, first_index + local_rank);
  } catch (const UnavailableError& error) {
    lacks = error.what();
  }
  std::unique_ptr<JobLink> link;
  try {
    link = job ? meet_through_mpi(*job, stall_deadline)
               : meet_at_address(environment, lacks.empty() ? kMeeting : kMeetingToTell,
                                 stall_deadline);
  } catch (const SetupError& error) {
    if (lacks.empty()) throw;
    throw UnavailableError(fmt::format("{0} NCCL ranks need {0} GPUs: rank {1}: {2}. And: {3}",
                                       environment.size, environment.rank, lacks, error.what()));
  }
  require_gpus(*link, lacks);
  DataPath& path = static_cast<PathDevice&>(*device).path();
  return make_process_runtime(std::move(job), std::move(link), std::move(device), path);
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
  if (choice.comm != "local" && choice.comm != "nccl" && choice.comm != "mpi")
    throw UsageError(fmt::format("--comm: got '{}', expected local, mpi or nccl", choice.comm));
  const std::chrono::milliseconds stall(static_cast<std::int64_t>(choice.stall_seconds * 1000));
  if (choice.comm == "mpi") {
    if (index)
      throw UsageError("--comm mpi moves CPU memory only; for GPUs: --device cuda --comm nccl");
    require_built(kBuiltWithMpi, "--comm mpi", kWhyNoMpi,
                  "MPI (Debian: libopenmpi-dev openmpi-bin)", "--comm local");
    return open_mpi_runtime(stall);
  }
  if (choice.comm == "nccl") {
    if (!index) throw UsageError("--comm nccl: NCCL moves GPU memory only; add --device cuda");
    require_built(kBuiltWithNccl, "--comm nccl", kWhyNoNccl, "the CUDA toolkit and NCCL",
                  "--comm local");
    if (const auto environment = launch_environment(); environment && environment->size > 1)
      return open_nccl_rank(*environment, *index, stall);
    return make_local_runtime(open_device("--comm nccl", kNcclLibrary, *index));
  }
  if (!index) return make_local_runtime(make_cpu_device());
  require_built(kBuiltWithCuda, "--device cuda", kWhyNoCuda, "the CUDA toolkit (nvcc, cuBLAS)",
                "--device cpu");
  return make_local_runtime(open_device("--device cuda", kCudaLibrary, *index));
}

void require_one_process(const RuntimeChoice& choice, const std::string& program) {
  if (choice.comm != "nccl") return;
  const auto environment = launch_environment();
  if (!environment || environment->size == 1) return;
  throw UsageError(fmt::format(
      "--comm nccl: {} started this as one of {} processes, but {} is one process with a thread a "
      "GPU; start it once, without a launcher",
      environment->launcher, environment->size, program));
}

}  // namespace culprit
