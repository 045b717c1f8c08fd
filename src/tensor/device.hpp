// The device or devices that ranks' memory can live on.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tensor/backend.hpp"

namespace culprit {

// Thread-safe; must outlive its backends.
class Device {
 public:
  virtual ~Device() = default;
  // For the calling thread, which is that rank's. Errors: UnavailableError when the device has no
  // room for it.
  virtual std::unique_ptr<Backend> make_backend(int world_rank, DType dtype) = 0;
  // Errors: UnavailableError when so many ranks can't run on it.
  virtual void require_room_for(int num_ranks) const = 0;
  // How long a rank's thread looks out for its peers before it sleeps, where it has a core to do so:
  // waking up takes longer than a short exchange between devices.
  virtual std::chrono::microseconds patience() const { return {}; }
  // As a report names it: "cuda:0 (NVIDIA H200, driver ...)".
  virtual std::string description() const = 0;
};

}  // namespace culprit
