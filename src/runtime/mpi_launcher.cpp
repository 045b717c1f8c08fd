#include "runtime/mpi_launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.hpp"
#include "process/program_path.hpp"
#include "runtime/build_parts.hpp"

namespace culprit {

MpiLauncher mpi_launcher() {
  if (!kBuiltWithMpi)
    throw UnavailableError(
        fmt::format("--comm mpi: this build has none ({}); install MPI (Debian: libopenmpi-dev "
                    "openmpi-bin) and build again, or use --comm local",
                    kWhyNoMpi));
  const char* path = std::getenv("PATH");
  const ProgramPath mpirun = find_program("mpirun", path ? path : "");
  if (mpirun.path.empty())
    throw UnavailableError(
        "--comm mpi: mpirun is not in PATH; install it (Debian: openmpi-bin), or use --comm local");
  // As variables, which other MPIs than Open MPI leave alone, and not as flags, which they refuse.
  MpiLauncher launcher{.command = {mpirun.path, "-np"},
                       .environment = {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                       {"OMPI_MCA_hwloc_base_binding_policy", "none"}}};
  if (geteuid() == 0) {
    launcher.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    launcher.environment.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  return launcher;
}

}  // namespace culprit
