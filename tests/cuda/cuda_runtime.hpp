// Support: the CUDA runtimes, opened once a test program.
#pragma once

#include "runtime/open_runtime.hpp"

namespace culprit::test {

// Errors: UnavailableError where there is no GPU or no CUDA in this build.
inline Runtime& cuda_runtime() {
  static const std::unique_ptr<Runtime> runtime = open_runtime({.device = "cuda"});
  return *runtime;
}
// Errors: UnavailableError likewise, and without NCCL.
inline Runtime& nccl_runtime() {
  static const std::unique_ptr<Runtime> runtime = open_runtime({.device = "cuda", .comm = "nccl"});
  return *runtime;
}

}  // namespace culprit::test
