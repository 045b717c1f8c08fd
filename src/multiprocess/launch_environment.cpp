#include "multiprocess/launch_environment.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

namespace culprit {
namespace {

int number(const GetVariable& get, const char* name) {
  const char* text = get(name);
  if (!text) throw UsageError(fmt::format("{} is not set, but the launcher's others are", name));
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

}  // namespace

std::optional<LaunchEnvironment> launch_environment(const GetVariable& get) {
  for (const Launcher& launcher : kLaunchers) {
    if (!get(launcher.rank) || !get(launcher.size)) continue;
    LaunchEnvironment found{.launcher = launcher.name,
                            .rank = number(get, launcher.rank),
                            .size = number(get, launcher.size)};
    if (found.rank >= found.size)
      throw UsageError(fmt::format("{} is {}, which is not below {} = {}", launcher.rank,
                                   found.rank, launcher.size, found.size));
    // Without the variable all processes are of one node.
    found.local_rank = get(launcher.local_rank) ? number(get, launcher.local_rank) : found.rank;
    if (get("MASTER_ADDR")) {
      found.address = get("MASTER_ADDR");
      found.port = number(get, "MASTER_PORT");
      // torchrun itself may hold MASTER_PORT, for the store that it shares with its processes.
      const char* agent_store = get("TORCHELASTIC_USE_AGENT_STORE");
      if (agent_store && std::string_view(agent_store) == "True") ++found.port;
      if (get("TORCHELASTIC_RUN_ID")) found.run_id = get("TORCHELASTIC_RUN_ID");
    }
    return found;
  }
  return std::nullopt;
}

std::optional<LaunchEnvironment> launch_environment() {
  return launch_environment([](const char* name) -> const char* { return std::getenv(name); });
}

}  // namespace culprit
