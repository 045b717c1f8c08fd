#include "app/triage_backends.hpp"

#include <utility>

#include "base/error.hpp"
#include "runtime/mpi_launcher.hpp"

namespace culprit {
namespace {

// `prepare` completes the options, or throws an Error: why the back end can't be used.
template <class Prepare>
TriageBackend backend(const std::string& name, const RuntimeChoice& choice, TrialOptions options,
                      Prepare prepare) {
  options.flags = choice.flags();
  options.launcher.clear();
  options.environment.clear();
  options.many_cells_a_process = false;
  TriageBackend result{.name = name, .absent = {}};
  try {
    prepare(options);
  } catch (const Error& error) {
    result.absent = error.what();
  }
  result.options = std::move(options);
  return result;
}

}  // namespace

std::vector<TriageBackend> triage_backends(const TrialOptions& base, const RuntimeChoice& choice,
                                           int num_ranks) {
  const std::string gpu = choice.device == "cpu" ? "cuda" : choice.device;
  std::vector<TriageBackend> list;
  list.push_back(backend("cpu+local", {}, base, [](TrialOptions&) {}));
  list.push_back(
      backend("cpu+mpi", {.device = "cpu", .comm = "mpi"}, base, [](TrialOptions& options) {
        MpiLauncher launcher = mpi_launcher();
        options.launcher = std::move(launcher.command);
        options.environment = std::move(launcher.environment);
      }));
  const auto on_gpu = [&](const RuntimeChoice& where) {
    return [&, where](TrialOptions& options) {
      require_one_process(where, "a triage");
      open_runtime(where)->make_world(num_ranks);
      options.many_cells_a_process = true;
      options.jobs = 1;
    };
  };
  const RuntimeChoice local{.device = gpu}, nccl{.device = gpu, .comm = "nccl"};
  list.push_back(backend("cuda+local", local, base, on_gpu(local)));
  TriageBackend blocking = list.back();
  blocking.name = "cuda+local, CUDA_LAUNCH_BLOCKING=1";
  blocking.is_blocking = true;
  blocking.options.environment.emplace_back("CUDA_LAUNCH_BLOCKING", "1");
  // Told once where there is no GPU.
  if (blocking.absent.empty()) list.push_back(std::move(blocking));
  list.push_back(backend("cuda+nccl", nccl, base, on_gpu(nccl)));
  return list;
}

}  // namespace culprit
