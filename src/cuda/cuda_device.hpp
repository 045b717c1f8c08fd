// What the plug-in library gives the programs; nothing else of this folder is used outside it.
#pragma once

#include <exception>

#include "tensor/device.hpp"

namespace culprit {

// The function's name in the library, which is opened only when a CUDA device is asked for: starting a program costs nothing for it, and
// needs neither driver nor cuBLAS.
inline constexpr const char* kOpenCudaDevice = "culprit_open_cuda_device";
// Gives a new device that the caller owns, or null and the error: UnavailableError without a driver, a device or one of that
// index.
using OpenCudaDevice = Device* (*)(int index, std::exception_ptr* error);

}  // namespace culprit
