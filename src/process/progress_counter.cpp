#include "process/progress_counter.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace culprit {
namespace {

// Launchers between a driver and the program that it started through them.
constexpr int kMostLevels = 16;

// 0: not to be found out.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t name_end = text.rfind(')');  // its name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

}  // namespace

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

// The counter behind a descriptor of this process; null: that is none.
ProgressCounter::Page* ProgressCounter::map_page(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size != sizeof(Page)) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* page = static_cast<Page*>(memory);
  if (page->magic == Page::kMagic) return page;
  ::munmap(memory, sizeof(Page));
  return nullptr;
}

ProgressCounter ProgressCounter::from_environment() {
  ProgressCounter result;
  const char* text = std::getenv(kProgressVariable);
  char* end = nullptr;
  const long fd = text ? std::strtol(text, &end, 10) : -1;
  if (text && end != text && *end == '\0' && fd >= 0 && fd <= 1 << 20) {
    result.page_ = map_page(static_cast<int>(fd));
    pid_t ancestor = ::getppid();
    for (int level = 0; !result.page_ && level < kMostLevels && ancestor > 1; ++level) {
      const std::string path = "/proc/" + std::to_string(ancestor) + "/fd/" + std::to_string(fd);
      const UniqueFd theirs(::open(path.c_str(), O_RDWR | O_CLOEXEC));
      if (theirs) result.page_ = map_page(theirs.get());
      ancestor = parent_of(ancestor);
    }
  }
  result.counter_ = result.page_ ? &result.page_->counter : new std::atomic<std::uint64_t>(0);
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
