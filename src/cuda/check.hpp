// Results of CUDA calls.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/error.hpp"

namespace culprit::cuda {

// Errors: SetupError with the call and CUDA's own words. A kernel's error may be told by a later
// call than its launch.
inline void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  throw SetupError(std::string("[cuda] ") + call + ": " + cudaGetErrorName(result) + ", " +
                   cudaGetErrorString(result));
}

}  // namespace culprit::cuda
