// NCCL communicators of groups of devices, made when a group first meets and kept for later jobs.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "cuda/cuda_resources.hpp"
#include "cuda/launch_order.hpp"

namespace culprit::cuda {

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
  // Calls `put` when `turns`, a range of LaunchOrder::Turn, have come, and ends them. If it throws,
  // what peers have put on their devices is ended, which would wait for ever, and nothing is to be
  // had from here any more. Other devices' threads may be in a call of NCCL's at this moment, which
  // abort is meant for; one that is about to make a call asks require_sound() again right before it,
  // since abort frees the communicator. (What is left is a peer that fails in the moment between.)
  // Errors: what `put` throws; as require_sound() does.
  template <class Turns, class Put>
  void put_in_turn(Turns turns, Put put) {
    const InTurn in_turn(order_, std::move(turns));
    require_sound();
    try {
      put();
    } catch (...) {
      give_up(trouble_of(std::current_exception()));
      throw;
    }
  }
  // Errors: an error with the words of what put_in_turn() failed of, once it has.
  void require_sound() const;

  // These members' blocks of kNcclBlocks meet in a collective. Due once, when they do so again: then
  // they are to be registered and kept. A block is never registered with others than the first.
  Registration meet(const std::vector<const std::byte*>& blocks);
  // On the turn of all devices. NCCL then reads and writes the peers' memory directly, with a third
  // of the multiprocessors at the same speed.
  static void register_blocks(const std::vector<ncclComm_t>& comms,
                              const std::vector<const std::byte*>& blocks, std::size_t bytes);

 private:
  void give_up(Trouble cause) noexcept;
  void abort_all() noexcept;  // when nobody makes a communicator

  std::mutex mutex_;
  std::map<std::pair<std::vector<int>, Use>, std::vector<ncclComm_t>> made_;
  std::map<std::vector<const std::byte*>, int> meetings_;
  std::set<const std::byte*> registered_;  // blocks
  Trouble cause_{};  // before gave_up_
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
