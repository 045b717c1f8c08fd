#include "comm/runtimes.hpp"
#include "mpi/mpi_runtime.hpp"

namespace culprit::test {

std::vector<RuntimeUnderTest> runtimes_under_test() { return in_every_type("Mpi", mpi_runtime); }

}  // namespace culprit::test
