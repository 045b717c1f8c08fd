#include "comm/runtimes.hpp"
#include "support/job_runtime.hpp"

namespace culprit::test {

std::vector<RuntimeUnderTest> runtimes_under_test() { return in_every_type("Mpi", job_runtime); }

}  // namespace culprit::test
