// Collectives in which members ask for different things.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tensor/backend.hpp"

namespace culprit::cuda {

// NCCL has no such collective: everyone gathers all members' memory into `gathered`, and takes what
// it asked for (`call`) from there. On `stream`, of the device that is current. Errors: SetupError.
void take_own_kind(DType dtype, cudaStream_t stream, const CollectiveCall& call,
                   const std::byte* gathered, std::size_t num_members);

}  // namespace culprit::cuda
