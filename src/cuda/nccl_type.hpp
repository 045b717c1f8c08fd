// NCCL's names of the element types.
#pragma once

#include <nccl.h>

#include "tensor/dtype.hpp"

namespace culprit::cuda {

inline ncclDataType_t nccl_type(DType dtype) {
  if (dtype == DType::kFloat32) return ncclFloat32;
  return dtype == DType::kFloat16 ? ncclFloat16 : ncclBfloat16;
}

}  // namespace culprit::cuda
