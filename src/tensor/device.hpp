// A device that ranks' memory can live on.
#pragma once

#include <memory>
#include <string>

#include "tensor/backend.hpp"

namespace culprit {

// Thread-safe; must outlive its backends.
class Device {
 public:
  virtual ~Device() = default;
  // For the calling thread, a rank's. Errors: UnavailableError when the device has no room for it.
  virtual std::unique_ptr<Backend> make_backend(DType dtype) = 0;
  // As a report names it: "cuda:0 (NVIDIA H200, driver ...)".
  virtual std::string description() const = 0;
};

}  // namespace culprit
