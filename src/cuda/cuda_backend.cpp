#include "cuda/cuda_backend.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <vector>

#include "cuda/blas_type.hpp"
#include "cuda/check.hpp"
#include "cuda/cuda_exchange.hpp"
#include "cuda/kernels.hpp"

namespace culprit::cuda {
namespace {

// Returns its block to the pool with the event of its last use, whichever rank lets go of it.
class CudaParcel final : public Parcel {
 public:
  CudaParcel(ParcelPool& pool, std::unique_ptr<ParcelPool::Block> block)
      : pool_(pool), block_(std::move(block)) {}
  ~CudaParcel() override { pool_.give_back(std::move(block_)); }
  ParcelPool::Block& block() { return *block_; }

 private:
  ParcelPool& pool_;
  std::unique_ptr<ParcelPool::Block> block_;
};

}  // namespace

CudaBackend::CudaBackend(DType dtype, int device, ResourcePool& pool)
    : Backend(dtype), pool_(pool) {
  check(cudaSetDevice(device), "cudaSetDevice");
  resources_ = pool.take();
}
CudaBackend::~CudaBackend() { pool_.give_back(std::move(resources_)); }

std::byte* CudaBackend::allocate(std::int64_t num_elements) {
  std::byte* data = resources_->memory.allocate(bytes_of(num_elements));
  count_allocation(num_bytes(num_elements));
  return data;
}
void CudaBackend::deallocate(std::byte* data, std::int64_t num_elements) noexcept {
  resources_->memory.deallocate(data, bytes_of(num_elements));
  counters_.live_bytes -= num_bytes(num_elements);
}

void CudaBackend::matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
                         std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  // cuBLAS is column-major: a row-major matrix is its own transpose there, so c^T = op(b)^T op(a)^T
  // is asked for.
  const auto op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto dim = [](std::int64_t size) { return static_cast<int>(size); };
  const float one = 1.0F, zero = 0.0F;
  check_blas(cublasGemmEx(resources_->blas, op(transpose_b), op(transpose_a), dim(n), dim(m),
                          dim(k), &one, b, blas_type(dtype()), dim(transpose_b ? k : n), a,
                          blas_type(dtype()), dim(transpose_a ? m : k), &zero, c,
                          blas_type(dtype()), dim(n), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
             "cublasGemmEx");
}
void CudaBackend::add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
                      std::int64_t num_elements) {
  cuda::add(dtype(), stream(), alpha, a, beta, b, c, num_elements);
}
void CudaBackend::scale(float alpha, const std::byte* a, std::byte* c, std::int64_t num_elements) {
  cuda::scale(dtype(), stream(), alpha, a, c, num_elements);
}
void CudaBackend::multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                           std::int64_t num_elements) {
  cuda::multiply(dtype(), stream(), alpha, a, b, c, num_elements);
}
void CudaBackend::fill(float value, std::byte* c, std::int64_t num_elements) {
  cuda::fill(dtype(), stream(), value, c, num_elements);
}
void CudaBackend::copy(const std::byte* a, std::byte* c, std::int64_t num_elements) {
  check(cudaMemcpyAsync(c, a, bytes_of(num_elements), cudaMemcpyDeviceToDevice, stream()),
        "cudaMemcpyAsync");
  counters_.copied_bytes += num_bytes(num_elements);
}
void CudaBackend::sum(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) {
  cuda::sum(dtype(), stream(), a, divisor, c,
            reinterpret_cast<float*>(resources_->partial_sums->data()), num_elements);
}
void CudaBackend::spread(const std::byte* a, float divisor, std::byte* c,
                         std::int64_t num_elements) {
  cuda::spread(dtype(), stream(), a, divisor, c, num_elements);
}
void CudaBackend::slice_columns(const std::byte* a, std::int64_t a_cols, std::int64_t first,
                                std::byte* c, std::int64_t rows, std::int64_t cols) {
  copy_rows(dtype(), stream(), at(a, first), a_cols, c, cols, rows, cols);
}
void CudaBackend::place_columns(const std::byte* a, std::int64_t cols, std::byte* c,
                                std::int64_t c_cols, std::int64_t first, std::int64_t rows) {
  copy_rows(dtype(), stream(), a, cols, c + num_bytes(first), c_cols, rows, cols);
}

// Host memory here is pageable: CUDA has taken it over when the copy to the device returns.
void CudaBackend::upload(std::span<const float> host, std::byte* device) {
  if (dtype() == DType::kFloat32) {
    check(cudaMemcpyAsync(device, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream()),
          "cudaMemcpyAsync");
    return;
  }
  std::vector<std::uint16_t> narrow(host.size());
  std::transform(host.begin(), host.end(), narrow.begin(),
                 dtype() == DType::kFloat16 ? float16_bits : bfloat16_bits);
  check(cudaMemcpyAsync(device, narrow.data(), 2 * narrow.size(), cudaMemcpyHostToDevice, stream()),
        "cudaMemcpyAsync");
}
void CudaBackend::download(const std::byte* device, std::span<float> host) {
  const auto fetch = [&](void* to, std::size_t bytes) {
    check(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  };
  if (dtype() == DType::kFloat32) return fetch(host.data(), host.size_bytes());
  std::vector<std::uint16_t> narrow(host.size());
  fetch(narrow.data(), 2 * narrow.size());
  std::transform(narrow.begin(), narrow.end(), host.begin(),
                 dtype() == DType::kFloat16 ? float16_value : bfloat16_value);
}

void CudaBackend::leave_free(int num_multiprocessors) {
  int device = 0, all = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&all, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  const bool is_some = num_multiprocessors > 0 && num_multiprocessors < all;
  check_blas(cublasSetSmCountTarget(resources_->blas, is_some ? all - num_multiprocessors : 0),
             "cublasSetSmCountTarget");
}

std::unique_ptr<ParcelPool::Block> CudaBackend::packed(const std::byte* a,
                                                       std::int64_t num_elements) {
  auto block = parcels().take(bytes_of(num_elements), stream());
  check(cudaMemcpyAsync(block->memory.data(), a, bytes_of(num_elements), cudaMemcpyDeviceToDevice,
                        stream()),
        "cudaMemcpyAsync");
  block->last_use.record(stream());
  return block;
}
std::unique_ptr<Parcel> CudaBackend::parcel_of(std::unique_ptr<ParcelPool::Block> block) {
  return std::make_unique<CudaParcel>(parcels(), std::move(block));
}
ParcelPool::Block& CudaBackend::block_of(Parcel& parcel) {
  return static_cast<CudaParcel&>(parcel).block();
}
std::unique_ptr<Parcel> CudaBackend::pack(const std::byte* a, std::int64_t num_elements) {
  return parcel_of(packed(a, num_elements));
}
std::unique_ptr<Parcel> CudaBackend::start_pack(const std::byte* a, std::int64_t num_elements) {
  auto block = parcels().take(bytes_of(num_elements), comm_stream());
  block->source = a;
  block->source_bytes = bytes_of(num_elements);
  block->source_ready.emplace();
  block->source_ready->record(stream());
  return parcel_of(std::move(block));
}
void CudaBackend::finish_pack(Parcel& parcel) {
  ParcelPool::Block& block = block_of(parcel);
  block.source_ready->make_wait(comm_stream());
  check(cudaMemcpyAsync(block.memory.data(), block.source, block.source_bytes,
                        cudaMemcpyDeviceToDevice, comm_stream()),
        "cudaMemcpyAsync");
  block.last_use.record(comm_stream());
  block.last_use.make_wait(stream());
}
void CudaBackend::unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) {
  copy_from(block_of(parcel), c, num_elements);
}
void CudaBackend::copy_from(ParcelPool::Block& block, std::byte* c, std::int64_t num_elements) {
  block.last_use.make_wait(stream());
  check(cudaMemcpyAsync(c, block.memory.data(), bytes_of(num_elements), cudaMemcpyDeviceToDevice,
                        stream()),
        "cudaMemcpyAsync");
  block.last_use.record(stream());
}

std::unique_ptr<Exchange> CudaBackend::make_exchange(std::size_t num_members) {
  return std::make_unique<CudaExchange>(num_members, dtype());
}

}  // namespace culprit::cuda
