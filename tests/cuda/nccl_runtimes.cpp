#include "comm/runtimes.hpp"
#include "cuda/cuda_runtime.hpp"

namespace culprit::test {

std::vector<RuntimeUnderTest> runtimes_under_test() {
  auto list = in_every_type("Nccl", nccl_runtime);
  for (RuntimeUnderTest& under_test : list) under_test.sums_in_rank_order = false;
  return list;
}

}  // namespace culprit::test
