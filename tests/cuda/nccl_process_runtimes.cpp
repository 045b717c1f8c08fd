#include "comm/runtimes.hpp"
#include "runtime/open_runtime.hpp"
#include "support/job_runtime.hpp"

namespace culprit::test {

Runtime& job_runtime() {
  static const std::unique_ptr<Runtime> runtime = open_runtime({.device = "cuda", .comm = "nccl"});
  return *runtime;
}

std::vector<RuntimeUnderTest> runtimes_under_test() {
  auto list = in_every_type("NcclProcesses", job_runtime);
  for (RuntimeUnderTest& under_test : list) under_test.sums_in_rank_order = false;
  return list;
}

}  // namespace culprit::test
