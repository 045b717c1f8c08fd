// NCCL communicators of groups of devices, made when a group first meets and kept for later jobs.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda/cuda_resources.hpp"

namespace culprit::cuda {

// What several devices do together must be put on all of them in the same order, or each can wait
// for what another has yet to begin; but each device's own thread is to put it there. So whatever
// has met takes a turn on each of its devices, all at once, and is put on each when its turn there
// has come. Thread-safe.
class LaunchOrder {
 public:
  using Turn = std::uint64_t;

  explicit LaunchOrder(int num_devices)
      : next_(static_cast<std::size_t>(num_devices)), now_(next_.size()) {}
  // To be held over all next_turn() of what is put on the devices together.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // The last turn so far on `device`. Must be waited for and ended, by any thread.
  Turn next_turn(int device) { return next_.at(static_cast<std::size_t>(device))++; }
  // Waits, briefly: whoever is before is being put there.
  void await(Turn turn, int device);
  void end(int device) { ++now_.at(static_cast<std::size_t>(device)).turn; }

 private:
  struct alignas(64) Now {  // apart from the others', which other threads write
    std::atomic<Turn> turn{0};
  };
  std::mutex mutex_;
  std::vector<Turn> next_;
  std::deque<Now> now_;
};

// Makes `device` the thread's for a scope: events and memory belong to the device that is current
// when they are made.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// Calls of one thread that NCCL is to take together. Left without end(), after an error of NCCL's,
// the group is closed all the same, or later calls of the thread would be kept back.
class NcclGroup {
 public:
  NcclGroup();
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  void end();

 private:
  bool is_open_ = true;
};

// Thread-safe.
class NcclCommunicators {
 public:
  // A group has one for what its members wait for at once, and two for collectives beside their
  // products, which leave these most multiprocessors: one for registered memory alone, since NCCL
  // takes another way with it, by what each member sees of its own.
  enum class Use { kInOrder, kBeside, kRegistered };
  enum class Registration { kNone, kDue, kDone };

  explicit NcclCommunicators(int num_devices) : order_(num_devices) {}
  ~NcclCommunicators();
  NcclCommunicators(const NcclCommunicators&) = delete;
  NcclCommunicators& operator=(const NcclCommunicators&) = delete;

  // One a device, in their order; each to be used by one thread at a time, as order() gives for it.
  // The reference stays good. Errors: SetupError.
  const std::vector<ncclComm_t>& of(const std::vector<int>& devices, Use use);
  LaunchOrder& order() { return order_; }
  // A rank could not put its part on its device: what its peers have put on theirs is ended, which
  // would wait for ever, and nothing is to be had from here any more. On the turn of what failed;
  // other devices' threads may be in a call of NCCL's at this moment, which abort is meant for.
  void give_up(const std::exception_ptr& cause) noexcept;
  // Errors: the cause, after give_up().
  void require_sound() const;

  // These members' blocks of kNcclBlocks meet in a collective. Due once, when they do so again: then
  // they are to be registered and kept. A block is never registered with others than the first.
  Registration meet(const std::vector<const std::byte*>& blocks);
  // On the turn of all devices. NCCL then reads and writes the peers' memory directly, with a third
  // of the multiprocessors at the same speed.
  static void register_blocks(const std::vector<ncclComm_t>& comms,
                              const std::vector<const std::byte*>& blocks, std::size_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::vector<int>, Use>, std::vector<ncclComm_t>> made_;
  std::map<std::vector<const std::byte*>, int> meetings_;
  std::set<const std::byte*> registered_;  // blocks
  std::exception_ptr cause_;  // before gave_up_
  std::atomic<bool> gave_up_{false};
  LaunchOrder order_;
};

// The multiprocessors that a collective beside products is given, and those products leave free.
// Chosen on H200: docs/benchmarks.md, "A sum beside a product".
inline constexpr int kBesideMultiprocessors = 8;
inline constexpr int kLeftFreeMultiprocessors = 16;

// Memory that can be registered.
extern const BlockSource kNcclBlocks;

void check_nccl(ncclResult_t result, const char* call);

}  // namespace culprit::cuda
