// What the processes of a job and their coordinator tell each other. A message is its kind, then
// the fields named beside it, in that order (base/bytes.hpp).
#pragma once

#include <chrono>
#include <cstdint>

#include "base/bytes.hpp"

namespace culprit {

// To the coordinator.
enum class ToCoordinator : std::uint8_t {
  kHello,      // key, version, rank, size
  kBeat,       // operations done so far: this process lives
  kOpen,       // number of ranks of the world that starts
  kJoin,       // a collective: group, call, group rank, members, kind, elements, token
  kPost,       // a message: group, to, is none, elements, token
  kWaitJoin,   // group, call, what
  kWaitPost,   // group, from, elements expected, what
  kFinished,   // this rank has ended
  kFailed,     // this rank has left
  kClose,      // the world ends: messages sent to each process through the data path
  kGather,     // bytes
  kBroadcast,  // bytes, of rank 0
  kBroken,     // exit status, text: this rank can't do its part in what others have begun with it
  kBye,        // this process leaves the job on purpose
};

// From the coordinator. All processes get what concerns several of them in one order.
enum class FromCoordinator : std::uint8_t {
  kBeat,       // first: this process is let in; then: the coordinator lives
  kEnded,      // exit status, text: the job can't go on, or does without this process
  kComplete,   // group, call, kinds differ, token: all members have come with equally much
  kTransfer,   // group, from, to, token: receiver and message have met
  kDropped,    // group, to: the oldest message for that rank had another length than its receiver
  kVerdict,    // verdict, reason; of kWaitJoin: what is mismatched; of kWaitPost: is none, elements
  kClosed,     // messages sent to this process by each
  kGathered,   // everybody's bytes on rank 0, nothing on the others
  kBroadcast,  // bytes
};

// Beats of either side, and how long without one (its connection standing) the other is taken for
// stopped, or its machine for gone.
inline constexpr std::chrono::milliseconds kBeat{500}, kSilence{4000};
// Of what both sides say before they know each other.
inline constexpr std::uint64_t kLongestHello = 4096;

// A message of that kind, without its fields yet.
template <class Kind>
ByteWriter message_of(Kind kind) {
  ByteWriter writer;
  writer.put(kind);
  return writer;
}

}  // namespace culprit
