#include "process/progress_counter.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace culprit {

// The shared memory. The magic number guards against a descriptor that the child's program reused.
struct ProgressCounter::Page {
  static constexpr std::uint64_t kMagic = 0x31505443554c5543;  // "CULUCTP1" in memory order
  std::uint64_t magic = kMagic;
  alignas(64) std::atomic<std::uint64_t> counter{0};
};

ProgressCounter ProgressCounter::create() {
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");
  ProgressCounter result;
  result.fd_ = UniqueFd(::memfd_create("culprit-progress", MFD_CLOEXEC));
  void* memory = MAP_FAILED;
  if (result.fd_ && ::ftruncate(result.fd_.get(), sizeof(Page)) == 0)
    memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, result.fd_.get(), 0);
  if (memory == MAP_FAILED)
    throw SetupError(std::string("[process.progress] cannot make shared memory: ") +
                     std::strerror(errno));
  result.page_ = new (memory) Page;
  result.counter_ = &result.page_->counter;
  return result;
}

ProgressCounter ProgressCounter::from_environment() {
  ProgressCounter result;
  const char* text = std::getenv(kProgressVariable);
  char* end = nullptr;
  const long fd = text ? std::strtol(text, &end, 10) : -1;
  struct stat info {};
  if (text && end != text && *end == '\0' && fd >= 0 && fd <= 1 << 20 &&
      ::fstat(static_cast<int>(fd), &info) == 0 && info.st_size == sizeof(Page)) {
    void* memory =
        ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    if (memory != MAP_FAILED) {
      auto* page = static_cast<Page*>(memory);
      if (page->magic == Page::kMagic) {
        result.page_ = page;
        result.counter_ = &page->counter;
        return result;
      }
      ::munmap(memory, sizeof(Page));
    }
  }
  result.counter_ = new std::atomic<std::uint64_t>(0);
  return result;
}

ProgressCounter::ProgressCounter(ProgressCounter&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)),
      counter_(std::exchange(other.counter_, nullptr)),
      fd_(std::move(other.fd_)) {}

ProgressCounter::~ProgressCounter() {
  if (page_)
    ::munmap(page_, sizeof(Page));
  else
    delete counter_;
}

}  // namespace culprit
