#include "runtime/open_runtime.hpp"
#include "support/job_runtime.hpp"

namespace culprit::test {

Runtime& job_runtime() {
  static const std::unique_ptr<Runtime> runtime = open_runtime({.device = "cpu", .comm = "mpi"});
  return *runtime;
}

}  // namespace culprit::test
