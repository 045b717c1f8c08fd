// The CUDA devices of this machine.
#pragma once

#include <chrono>
#include <string>

namespace culprit::cuda {

// How long a rank's thread looks out for its peers (Device::patience): about as long as waking up
// takes.
inline constexpr std::chrono::microseconds kPatience{50};

// How many there are. Makes no context. Errors: UnavailableError without a driver or device.
int count_devices();
// Errors: UnavailableError when there is no device of that index.
void require_device(int index);
// "NVIDIA H200, driver for CUDA 13.0, CUDA 13.0"
std::string describe_device(int index);

}  // namespace culprit::cuda
