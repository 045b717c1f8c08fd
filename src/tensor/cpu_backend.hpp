// The default backend: host memory, matrix products through OpenBLAS.
#pragma once

#include <memory>
#include <string>

#include "tensor/backend.hpp"

namespace culprit {

std::unique_ptr<Backend> make_cpu_backend();

// Version and run-time core type of the BLAS library, for the environment section of a report.
std::string blas_description();

}  // namespace culprit
