#include "multiprocess/launch_environment.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace culprit {
namespace {

constexpr int kMostPorts = 65535;

int number(const GetVariable& get, const char* name) {
  const char* text = get(name);
  if (!text)
    throw UsageError(fmt::format(
        "{} is not set, but the launcher's others are; set it too, or unset them all to "
        "run the ranks in one process",
        name));
  int value = 0;
  const std::string_view words = text;
  const auto [stop, error] = std::from_chars(words.data(), words.data() + words.size(), value);
  if (error != std::errc{} || stop != words.data() + words.size() || value < 0)
    throw UsageError(fmt::format("{}: got '{}', expected a number from 0", name, words));
  return value;
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
  const char* local_rank;
};
// torchrun's first: a user who sets them inside an mpirun or srun job means them.
constexpr std::array<Launcher, 4> kLaunchers{
    {{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
     {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
     {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
     // Not SLURM_NTASKS: a batch script has that too, without being one of so many processes.
     {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}}};
constexpr const Launcher& kTorchrun = kLaunchers[0];
constexpr const Launcher& kSrun = kLaunchers[3];

bool is_set(const GetVariable& get, const Launcher& launcher) {
  return get(launcher.rank) && get(launcher.size);
}

LaunchEnvironment ranks_of(const GetVariable& get, const Launcher& launcher) {
  LaunchEnvironment found{.launcher = launcher.name,
                          .rank = number(get, launcher.rank),
                          .size = number(get, launcher.size)};
  if (found.rank >= found.size)
    throw UsageError(fmt::format("{} is {}, which is not below {} = {}", launcher.rank, found.rank,
                                 launcher.size, found.size));
  // Without the variable all processes are of one node.
  found.local_rank = get(launcher.local_rank) ? number(get, launcher.local_rank) : found.rank;
  if (found.local_rank >= found.size)
    throw UsageError(fmt::format("{} is {}, which is not below {} = {}", launcher.local_rank,
                                 found.local_rank, launcher.size, found.size));
  return found;
}

// torchrun's variables by hand, and not for each process: left over from somewhere else.
void require_not_left_over(const GetVariable& get, const LaunchEnvironment& found) {
  if (get("TORCHELASTIC_RUN_ID")) return;  // by torchrun, which may be one of many
  for (const Launcher& other : kLaunchers)
    if (is_set(get, other) && number(get, other.size) > found.size)
      throw UsageError(fmt::format(
          "WORLD_SIZE is {}, but {} is {}: set RANK and WORLD_SIZE for each process, or unset them",
          found.size, other.size, number(get, other.size)));
}

// Where rank 0 is to listen, if that is given.
void take_meeting_place(const GetVariable& get, LaunchEnvironment& found) {
  const char* address = get("MASTER_ADDR");
  if (!address) return;
  found.address = address;
  if (found.address->empty())
    throw UsageError("MASTER_ADDR: got '', expected the address of rank 0's machine");
  found.port = number(get, "MASTER_PORT");
  // torchrun itself may hold MASTER_PORT, for the store that it shares with its processes.
  const char* agent_store = get("TORCHELASTIC_USE_AGENT_STORE");
  if (agent_store && std::string_view(agent_store) == "True") ++found.port;
  if (found.port < 1 || found.port > kMostPorts)
    throw UsageError(fmt::format("MASTER_PORT: got {}, expected a port from 1 to {}",
                                 get("MASTER_PORT"), kMostPorts));
  if (get("TORCHELASTIC_RUN_ID")) found.run_id = get("TORCHELASTIC_RUN_ID");
}

// The surrounding environment's, of getenv.
const char* variable(const char* name) { return std::getenv(name); }

}  // namespace

std::optional<LaunchEnvironment> launch_environment(const GetVariable& get) {
  if (!get(kTorchrun.rank) != !get(kTorchrun.size))
    number(get, get(kTorchrun.rank) ? kTorchrun.size : kTorchrun.rank);  // throws: is not set
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(get, launcher)) continue;
    LaunchEnvironment found = ranks_of(get, launcher);
    if (&launcher == &kTorchrun) require_not_left_over(get, found);
    take_meeting_place(get, found);
    // There is no other place for them to meet.
    if (&launcher == &kTorchrun && found.size > 1 && !found.address) number(get, "MASTER_ADDR");
    if (&launcher == &kSrun && get("SLURM_JOB_ID") && get("SLURM_STEP_ID"))
      found.run_id = fmt::format("{}.{}", get("SLURM_JOB_ID"), get("SLURM_STEP_ID"));
    return found;
  }
  return std::nullopt;
}
std::optional<LaunchEnvironment> launch_environment() { return launch_environment(variable); }

std::optional<LaunchEnvironment> mpi_launch_environment(const GetVariable& get) {
  std::optional<LaunchEnvironment> largest;
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(get, launcher)) continue;
    const LaunchEnvironment found = ranks_of(get, launcher);
    if (launcher.name == std::string_view("mpirun")) return found;
    if (!largest || found.size > largest->size) largest = found;
  }
  return largest;
}
std::optional<LaunchEnvironment> mpi_launch_environment() {
  return mpi_launch_environment(variable);
}

}  // namespace culprit
