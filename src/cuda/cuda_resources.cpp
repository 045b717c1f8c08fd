#include "cuda/cuda_resources.hpp"

#include <fmt/format.h>

#include "cuda/check.hpp"
#include "cuda/kernels.hpp"

namespace culprit::cuda {
namespace {

// Blocks start at multiples of this, so that 16-byte accesses and cuBLAS's fast paths apply.
constexpr std::size_t kAlignment = 512;
constexpr std::size_t kSmall = 256 << 10;  // from here on a block is an allocation of its own
constexpr std::size_t kSlab = 8 << 20;
// NVIDIA's advice for this generation of devices.
constexpr std::size_t kBlasWorkspace = 32 << 20;

std::size_t size_class(std::size_t bytes) {
  return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::string in_mib(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

// Null where the device has no room.
std::byte* try_malloc(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t result = cudaMalloc(&data, bytes);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // not to be found by the next call that looks
    return nullptr;
  }
  check(result, "cudaMalloc");
  return static_cast<std::byte*>(data);
}

[[noreturn]] void out_of_memory(std::size_t asked) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  throw UnavailableError(
      fmt::format("out of device memory: asked for {}, free are {} of {}; choose smaller sizes "
                  "(--hidden, --tokens, --acc) or --jobs 1",
                  in_mib(asked), in_mib(free), in_mib(total)));
}

}  // namespace

const BlockSource kPlainBlocks{.allocate = try_malloc,
                               .release = [](std::byte* data) { cudaFree(data); }};

CachingAllocator::~CachingAllocator() {
  kept_.clear();
  release_cached();
  for (std::byte* slab : slabs_) source_.release(slab);
}

std::byte* CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  auto& kept = free_[size];
  if (!kept.empty()) {
    std::byte* data = kept.back();
    kept.pop_back();
    return data;
  }
  if (size >= kSmall) return from_device(size);
  if (slabs_.empty() || slab_used_ + size > kSlab) {
    slabs_.push_back(from_device(kSlab));
    slab_used_ = 0;
  }
  std::byte* data = slabs_.back() + slab_used_;
  slab_used_ += size;
  return data;
}

void CachingAllocator::deallocate(std::byte* data, std::size_t bytes) noexcept {
  free_[size_class(bytes)].push_back(data);
}

std::byte* CachingAllocator::from_device(std::size_t bytes) {
  std::byte* data = try_from_device(bytes);
  if (data) return data;
  release_cached();  // blocks of other sizes; cudaFree waits for who may still use them
  data = try_from_device(bytes);
  if (!data) out_of_memory(bytes);
  return data;
}
std::byte* CachingAllocator::try_from_device(std::size_t bytes) {
  if (bytes < kDirectBytes) return try_malloc(bytes);
  std::byte* data = source_.allocate(bytes);
  if (data) direct_.insert(data);
  return data;
}

void CachingAllocator::release_cached() {
  for (auto& [size, blocks] : free_) {
    if (size < kSmall) continue;  // part of a slab
    std::vector<std::byte*> kept;
    for (std::byte* block : blocks) {
      if (kept_.count(block) > 0)
        kept.push_back(block);
      else if (direct_.erase(block) > 0)
        source_.release(block);
      else
        cudaFree(block);
    }
    blocks = std::move(kept);
  }
}

DeviceBlock::DeviceBlock(std::size_t bytes) : data_(try_malloc(size_class(bytes))) {
  if (!data_) out_of_memory(bytes);
}
DeviceBlock::~DeviceBlock() { cudaFree(data_); }

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
}
Event::~Event() { cudaEventDestroy(event_); }
void Event::record(cudaStream_t stream) {
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}
void Event::make_wait(cudaStream_t stream) const {
  check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
}

RankResources::RankResources(const BlockSource& source) : memory(source) {
  // Not ordered with the default stream, which nobody uses.
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  // A collective must not queue behind the products that it is to overlap with.
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&comm_stream, cudaStreamNonBlocking, greatest),
        "cudaStreamCreate");
  workspace = std::make_unique<DeviceBlock>(kBlasWorkspace);
  partial_sums = std::make_unique<DeviceBlock>(kPartialSums * sizeof(float));
  check_blas(cublasCreate(&blas), "cublasCreate");
  check_blas(cublasSetStream(blas, stream), "cublasSetStream");
  check_blas(cublasSetWorkspace(blas, workspace->data(), kBlasWorkspace), "cublasSetWorkspace");
  // Two-byte products are added up in float32 to the end, also where a product is split over
  // several blocks.
  check_blas(cublasSetMathMode(
                 blas, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                 CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
             "cublasSetMathMode");
}
RankResources::~RankResources() {
  cudaStreamSynchronize(stream);
  cudaStreamSynchronize(comm_stream);
  cublasDestroy(blas);
  cudaStreamDestroy(comm_stream);
  cudaStreamDestroy(stream);
}

std::unique_ptr<ParcelPool::Block> ParcelPool::take(std::size_t bytes, cudaStream_t stream) {
  const std::size_t size = size_class(bytes);
  std::unique_ptr<Block> block;
  {
    const std::lock_guard lock(mutex_);
    auto& kept = free_[size];
    if (!kept.empty()) {
      block = std::move(kept.back());
      kept.pop_back();
    }
  }
  if (block)
    block->last_use.make_wait(stream);
  else
    block = std::make_unique<Block>(size);
  return block;
}
void ParcelPool::give_back(std::unique_ptr<Block> block) {
  const std::lock_guard lock(mutex_);
  free_[block->bytes].push_back(std::move(block));
}

std::unique_ptr<RankResources> ResourcePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<RankResources> resources = std::move(idle_.back());
      idle_.pop_back();
      return resources;
    }
  }
  return std::make_unique<RankResources>(source_);
}
void ResourcePool::give_back(std::unique_ptr<RankResources> resources) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(resources));
}

void check_blas(cublasStatus_t result, const char* call) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  throw SetupError(fmt::format("[cuda] {}: {}", call, cublasGetStatusString(result)));
}

}  // namespace culprit::cuda
