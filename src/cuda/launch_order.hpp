// The order in which ranks' threads put on devices what several devices do together. Knows no CUDA.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace culprit::cuda {

// What several devices do together must be put on all of them in the same order, or each can wait
// for what another has yet to begin; but each device's own thread is to put it there. So whatever
// has met takes a turn on each of its devices, all at once, and is put on each when its turn there
// has come (InTurn). Thread-safe.
class LaunchOrder {
 public:
  struct Turn {
    int device = 0;
    std::uint64_t number = 0;
  };

  explicit LaunchOrder(int num_devices)
      : next_(static_cast<std::size_t>(num_devices)), now_(next_.size()) {}
  // To be held over all next_turn() of what is put on the devices together.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // The last turn so far on `device`. Must be waited for and ended, by any thread.
  Turn next_turn(int device) { return {device, next_.at(static_cast<std::size_t>(device))++}; }
  // Waits, briefly: whoever is before is being put there.
  void await(const Turn& turn) {
    const std::atomic<std::uint64_t>& now = now_at(turn);
    while (now != turn.number) std::this_thread::yield();
  }
  void end(const Turn& turn) { ++now_at(turn); }

 private:
  struct alignas(64) Now {  // apart from the others', which other threads write
    std::atomic<std::uint64_t> number{0};
  };
  std::atomic<std::uint64_t>& now_at(const Turn& turn) {
    return now_.at(static_cast<std::size_t>(turn.device)).number;
  }

  std::mutex mutex_;
  std::vector<std::uint64_t> next_;
  std::deque<Now> now_;
};

// Turns, waited for, and ended when the scope is left, however it is. `Turns` is a range of
// LaunchOrder::Turn.
template <class Turns>
class InTurn {
 public:
  InTurn(LaunchOrder& order, Turns turns) : order_(order), turns_(std::move(turns)) {
    for (const LaunchOrder::Turn& turn : turns_) order_.await(turn);
  }
  ~InTurn() {
    for (const LaunchOrder::Turn& turn : turns_) order_.end(turn);
  }
  InTurn(const InTurn&) = delete;
  InTurn& operator=(const InTurn&) = delete;

 private:
  LaunchOrder& order_;
  Turns turns_;
};

}  // namespace culprit::cuda
