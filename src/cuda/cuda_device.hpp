// What the plug-in libraries give the programs; nothing else of this folder is used outside it.
#pragma once

#include <exception>

#include "tensor/device.hpp"

namespace culprit {

// A library is opened only when its part is asked for: starting a program costs nothing for it, and
// needs neither driver nor cuBLAS nor NCCL. Its function gives a new device that the caller owns,
// or null and the error: UnavailableError without a driver, a device or one of that index.
using OpenDevice = Device* (*)(int index, std::exception_ptr* error);

struct DeviceLibrary {
  const char* file;
  const char* function;  // an OpenDevice
};
// All ranks on the GPU of that index.
inline constexpr DeviceLibrary kCudaLibrary{"libculprit_cuda.so", "culprit_open_cuda_device"};
// A GPU a rank from that index on, through NCCL.
inline constexpr DeviceLibrary kNcclLibrary{"libculprit_nccl.so", "culprit_open_nccl_devices"};
// The GPU of that index for the one rank that this process is, through NCCL: a PathDevice.
inline constexpr DeviceLibrary kNcclRankLibrary{"libculprit_nccl.so", "culprit_open_nccl_rank"};

}  // namespace culprit
