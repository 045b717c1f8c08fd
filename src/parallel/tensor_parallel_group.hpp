// The tensor-parallel group of a rank, as the layers use it.
#pragma once

#include "autograd/context.hpp"
#include "comm/communicator.hpp"

namespace culprit {

struct TensorParallelGroup {
  Communicator* comm = nullptr;  // not owned; null only at size 1
  int rank = 0;
  int size = 1;
};

}  // namespace culprit
