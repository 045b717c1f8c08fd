// The tensor-parallel group of a rank, as the layers use it.
#pragma once

#include <span>

#include "autograd/context.hpp"
#include "comm/communicator.hpp"

namespace culprit {

struct TensorParallelGroup {
  Communicator* comm = nullptr;  // not owned; null only at size 1
  int rank = 0;
  int size = 1;
};

// The elements of `tensor`'s memory, for a collective that writes it directly: no autograd record, no
// in-place version change (rule 13).
inline std::span<float> raw_elements(const Tensor& tensor) {
  return {tensor.impl()->data(), static_cast<std::size_t>(tensor.impl()->num_elements())};
}

}  // namespace culprit
