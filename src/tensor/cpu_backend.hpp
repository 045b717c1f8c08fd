// The default backend: host memory, matrix products through OpenBLAS.
#pragma once

#include <memory>
#include <string>

#include "tensor/backend.hpp"
#include "tensor/device.hpp"

namespace culprit {

// float16 and bfloat16 are emulated: stored in two bytes, rounded at every store, worked out in
// float32.
std::unique_ptr<Backend> make_cpu_backend(DType dtype);
std::unique_ptr<Device> make_cpu_device();

// Version and run-time core type of the BLAS library, for the environment section of a report.
std::string blas_description();

}  // namespace culprit
