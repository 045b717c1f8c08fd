// What a rank needs on a device and what costs time to make: streams, a cuBLAS handle, events,
// cached memory. Kept by the device from one job to the next.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace culprit::cuda {

// Where an allocator's blocks from kDirectBytes on come from.
struct BlockSource {
  std::byte* (*allocate)(std::size_t bytes);  // null where the device has no room
  void (*release)(std::byte* data);
};
inline constexpr std::size_t kDirectBytes = 4 << 20;
extern const BlockSource kPlainBlocks;  // CUDA's own

// Device memory for one rank, kept when freed and given again to a request of the same size class.
// A block may be given again at once: all its users are in the order of the rank's stream. One
// thread at a time.
class CachingAllocator {
 public:
  explicit CachingAllocator(const BlockSource& source) : source_(source) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Errors: UnavailableError with the bytes asked for and free.
  std::byte* allocate(std::size_t bytes);
  void deallocate(std::byte* data, std::size_t bytes) noexcept;

  // Whether a block of the source begins here.
  bool is_direct(const std::byte* data) const { return direct_.count(data) > 0; }
  // Never gives the block of the source that begins here back to it: it goes on serving requests of
  // its size alone.
  void keep(const std::byte* data) { kept_.insert(data); }

 private:
  std::byte* from_device(std::size_t bytes);
  std::byte* try_from_device(std::size_t bytes);
  void release_cached();

  const BlockSource& source_;
  std::unordered_set<const std::byte*> direct_;                    // blocks of the source
  std::unordered_set<const std::byte*> kept_;                      // of these
  std::unordered_map<std::size_t, std::vector<std::byte*>> free_;  // by size class
  std::vector<std::byte*> slabs_;                                  // that small blocks are cut from
  std::size_t slab_used_ = 0;
};

// `bytes` of device memory for as long as the object lives.
class DeviceBlock {
 public:
  explicit DeviceBlock(std::size_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  // At the end of what is on `stream` now; may be recorded again.
  void record(cudaStream_t stream);
  // What is put on `stream` from now on waits for the last record() before this call.
  void make_wait(cudaStream_t stream) const;

 private:
  cudaEvent_t event_ = nullptr;
};

// A rank's own streams: one for its work, in order, and one for collectives beside it.
struct RankResources {
  explicit RankResources(const BlockSource& source);
  ~RankResources();
  RankResources(const RankResources&) = delete;
  RankResources& operator=(const RankResources&) = delete;

  cudaStream_t stream = nullptr;
  cudaStream_t comm_stream = nullptr;
  cublasHandle_t blas = nullptr;
  std::unique_ptr<DeviceBlock> workspace;  // cuBLAS's own, fixed so that no product allocates
  std::unique_ptr<DeviceBlock> partial_sums;
  CachingAllocator memory;
};

// Blocks that pass from one rank's stream to another's, each with the event of its last use.
// Thread-safe.
class ParcelPool {
 public:
  struct Block {
    explicit Block(std::size_t size) : bytes(size), memory(size) {}
    std::size_t bytes;
    DeviceBlock memory;
    Event last_use;
    // Of a copy that is still to be made, between start_pack() and finish_pack().
    const std::byte* source = nullptr;
    std::size_t source_bytes = 0;
    std::optional<Event> source_ready;
  };
  // A block whose last use is over for what is put on `stream` from now on. Errors:
  // UnavailableError.
  std::unique_ptr<Block> take(std::size_t bytes, cudaStream_t stream);
  void give_back(std::unique_ptr<Block> block);

 private:
  std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<std::unique_ptr<Block>>> free_;
};

// Idle resources of one device, by whoever used them last. Thread-safe.
class ResourcePool {
 public:
  explicit ResourcePool(const BlockSource& source = kPlainBlocks) : source_(source) {}
  // Errors: UnavailableError, SetupError.
  std::unique_ptr<RankResources> take();
  void give_back(std::unique_ptr<RankResources> resources);
  ParcelPool& parcels() { return parcels_; }

 private:
  const BlockSource& source_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RankResources>> idle_;
  ParcelPool parcels_;
};

void check_blas(cublasStatus_t result, const char* call);

}  // namespace culprit::cuda
