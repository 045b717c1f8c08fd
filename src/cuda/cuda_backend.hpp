// A rank's memory and arithmetic on a CUDA device: everything in the order of one stream, products
// through cuBLAS.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/cuda_resources.hpp"
#include "tensor/backend.hpp"

namespace culprit::cuda {

class CudaBackend : public Backend {
 public:
  // Makes `device` the calling thread's, which must be the only one to use this backend. `pool` is
  // the device's and must outlive it. Errors: UnavailableError, SetupError.
  CudaBackend(DType dtype, int device, ResourcePool& pool);
  ~CudaBackend() override;

  std::byte* allocate(std::int64_t num_elements) override;
  void deallocate(std::byte* data, std::int64_t num_elements) noexcept override;
  void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
              std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) override;
  void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
           std::int64_t num_elements) override;
  void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t num_elements) override;
  void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                std::int64_t num_elements) override;
  void fill(float value, std::byte* c, std::int64_t num_elements) override;
  void copy(const std::byte* a, std::byte* c, std::int64_t num_elements) override;
  void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) override;
  void spread(const std::byte* a, float divisor, std::byte* c, std::int64_t num_elements) override;
  void slice_columns(const std::byte* a, std::int64_t a_cols, std::int64_t first, std::byte* c,
                     std::int64_t rows, std::int64_t cols) override;
  void place_columns(const std::byte* a, std::int64_t cols, std::byte* c, std::int64_t c_cols,
                     std::int64_t first, std::int64_t rows) override;
  void upload(std::span<const float> host, std::byte* device) override;
  void download(const std::byte* device, std::span<float> host) override;
  std::unique_ptr<Parcel> pack(const std::byte* a, std::int64_t num_elements) override;
  std::unique_ptr<Parcel> start_pack(const std::byte* a, std::int64_t num_elements) override;
  void finish_pack(Parcel& parcel) override;
  void unpack(Parcel& parcel, std::byte* c, std::int64_t num_elements) override;
  std::unique_ptr<Exchange> make_exchange(std::size_t num_members) override;

  cudaStream_t stream() const { return resources_->stream; }
  cudaStream_t comm_stream() const { return resources_->comm_stream; }
  // Of the rank's allocator (CachingAllocator).
  bool is_direct_block(const std::byte* data) const { return resources_->memory.is_direct(data); }
  void keep_block(const std::byte* data) { resources_->memory.keep(data); }

 protected:
  // From now on products are laid out for all multiprocessors but this many.
  void leave_free(int num_multiprocessors);
  // A copy of `a` in a block of the device's pool; its last use is recorded.
  std::unique_ptr<ParcelPool::Block> packed(const std::byte* a, std::int64_t num_elements);
  // How a block of this kind of backend travels.
  virtual std::unique_ptr<Parcel> parcel_of(std::unique_ptr<ParcelPool::Block> block);
  virtual ParcelPool::Block& block_of(Parcel& parcel);
  // The block's contents to `c`, which becomes its last use.
  void copy_from(ParcelPool::Block& block, std::byte* c, std::int64_t num_elements);
  ParcelPool& parcels() { return pool_.parcels(); }

 private:
  std::size_t bytes_of(std::int64_t num_elements) const {
    return static_cast<std::size_t>(num_bytes(num_elements));
  }
  const std::byte* at(const std::byte* memory, std::int64_t element) const {
    return memory + num_bytes(element);
  }

  ResourcePool& pool_;
  std::unique_ptr<RankResources> resources_;
};

}  // namespace culprit::cuda
