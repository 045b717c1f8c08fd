// The calls by hand, which the benchmarks hold this engine against: cuBLAS and NCCL without
// anything of this project between.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>

namespace culprit::by_hand {

inline void require(bool ok, const char* what) {
  if (ok) return;
  fmt::print(stderr, "failed: {}\n", what);
  std::_Exit(3);  // other ranks may be waiting for this one
}
inline void cuda(cudaError_t result) { require(result == cudaSuccess, cudaGetErrorString(result)); }
inline void nccl(ncclResult_t result) {
  require(result == ncclSuccess, ncclGetErrorString(result));
}
inline void blas(cublasStatus_t result) {
  require(result == CUBLAS_STATUS_SUCCESS, cublasGetStatusString(result));
}

// The calls by hand on one GPU.
struct ByHand {
  ByHand(int device, ncclComm_t communicator) : comm(communicator) {
    cuda(cudaSetDevice(device));
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda(cudaStreamCreateWithFlags(&comm_stream, cudaStreamNonBlocking));
    cuda(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    blas(cublasCreate(&handle));
    blas(cublasSetStream(handle, stream));
    cuda(cudaMalloc(&workspace, 32 << 20));
    blas(cublasSetWorkspace(handle, workspace, 32 << 20));
  }
  // Row-major c[m,n] = op(a) op(b), float16 (or `type`) with float32 accumulation.
  void matmul(const void* a, bool ta, const void* b, bool tb, void* c, int m, int n, int k) {
    const float one = 1.0F, zero = 0.0F;
    blas(cublasGemmEx(handle, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, n, m,
                      k, &one, b, type, tb ? k : n, a, type, ta ? m : k, &zero, c, type, n,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }
  void wait() {
    cuda(cudaStreamSynchronize(stream));
    cuda(cudaStreamSynchronize(comm_stream));
  }
  ncclComm_t comm;
  cudaDataType_t type = CUDA_R_16F;
  cudaStream_t stream{}, comm_stream{};
  cudaEvent_t ready{}, done{};
  cublasHandle_t handle{};
  void* workspace{};
};

}  // namespace culprit::by_hand
