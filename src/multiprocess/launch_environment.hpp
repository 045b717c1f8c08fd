// What the program that started this process says of the job: which of how many processes it is,
// and where they meet.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace culprit {

struct LaunchEnvironment {
  std::string launcher;  // in words: "torchrun", "mpirun", "srun"
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the processes of this node
  // Where rank 0 is to listen: MASTER_ADDR and MASTER_PORT. None: the processes meet through MPI.
  std::optional<std::string> address = {};
  int port = 0;
  std::string run_id = {};  // of this run where the launcher gives one; keeps strangers out
};

// None when no launcher started this process. `get` looks a variable up (null: unset). Errors:
// UsageError for variables that contradict each other, are half set or no numbers.
using GetVariable = std::function<const char*(const char*)>;
std::optional<LaunchEnvironment> launch_environment(const GetVariable& get);
std::optional<LaunchEnvironment> launch_environment();

// The launcher that this process's MPI should know of: mpirun's variables before all others. Where
// that started several processes and MPI knows of one, it is none of MPI's. Errors: as above.
std::optional<LaunchEnvironment> mpi_launch_environment(const GetVariable& get);
std::optional<LaunchEnvironment> mpi_launch_environment();

}  // namespace culprit
