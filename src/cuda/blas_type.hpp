// cuBLAS's names of the element types.
#pragma once

#include <library_types.h>

#include "tensor/dtype.hpp"

namespace culprit::cuda {

inline cudaDataType_t blas_type(DType dtype) {
  if (dtype == DType::kFloat32) return CUDA_R_32F;
  return dtype == DType::kFloat16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace culprit::cuda
