#include "comm/runtimes.hpp"
#include "cuda/cuda_runtime.hpp"

namespace culprit::test {

std::vector<RuntimeUnderTest> runtimes_under_test() {
  return in_every_type("CudaThreads", cuda_runtime);
}

}  // namespace culprit::test
