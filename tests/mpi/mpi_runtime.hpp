// Support: the MPI runtime, opened once a test program.
#pragma once

#include "runtime/open_runtime.hpp"

namespace culprit::test {

// Errors: UnavailableError where there is no MPI or none in this build.
inline Runtime& mpi_runtime() {
  static const std::unique_ptr<Runtime> runtime = open_runtime({.device = "cpu", .comm = "mpi"});
  return *runtime;
}

}  // namespace culprit::test
