// How processes of an MPI job are started.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace culprit {

// The front of a command that starts so many processes of a program, and what it needs in the
// environment: more processes than cores are allowed, none is bound to a core, root may.
struct MpiLauncher {
  std::vector<std::string> command;  // without the number, which comes next
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
};

// Errors: UnavailableError when this build has no MPI part or this machine no mpirun.
MpiLauncher mpi_launcher();

}  // namespace culprit
