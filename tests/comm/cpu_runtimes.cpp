#include "comm/runtimes.hpp"

namespace culprit::test {

std::vector<RuntimeUnderTest> runtimes_under_test() {
  return in_every_type("CpuThreads", cpu_threads);
}

}  // namespace culprit::test
