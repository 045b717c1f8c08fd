// How a child tells its driver that it is alive: a counter in memory that both map. The driver
// kills a child whose counter and output stand still for too long (a hang), however long it runs
// otherwise. The child inherits the memory at descriptor kProgressFd; CULPRIT_PROGRESS_FD announces
// it.
#pragma once

#include <atomic>
#include <cstdint>

#include "process/unique_fd.hpp"

namespace culprit {

inline constexpr const char* kProgressVariable = "CULPRIT_PROGRESS_FD";
// High enough not to meet the low descriptors that shell scripts like to open themselves (exec
// 3>...).
inline constexpr int kProgressFd = 97;

class ProgressCounter {
 public:
  // The driver's side: new shared memory, counter 0. Throws SetupError where the system refuses.
  static ProgressCounter create();
  // The child's side: the counter that the driver shares, or a private one when the variable is
  // absent or the descriptor is not (or no longer) a progress counter, of this process or of one
  // above it (mpirun leaves its own processes none of its descriptors). Never throws for a bad
  // variable.
  static ProgressCounter from_environment();

  ProgressCounter(ProgressCounter&& other) noexcept;
  ProgressCounter& operator=(ProgressCounter&&) = delete;
  ~ProgressCounter();

  // One operation finished. Any thread; a relaxed add, no system call.
  void tick() { counter_->fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t read() const { return counter_->load(std::memory_order_relaxed); }

  // True when a driver sees the ticks.
  bool is_shared() const { return page_ != nullptr; }
  // The memory's descriptor on the driver's side (owned here), -1 on the child's.
  int fd() const { return fd_.get(); }

 private:
  struct Page;
  ProgressCounter() = default;
  static Page* map_page(int fd);

  Page* page_ = nullptr;                           // mapped; null when private
  std::atomic<std::uint64_t>* counter_ = nullptr;  // into page_, or owned when private
  UniqueFd fd_;
};

}  // namespace culprit
