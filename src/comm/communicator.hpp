// Ranks that exchange buffers. A communicator moves elements; it knows no tensors and no gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/backend.hpp"

namespace culprit {

// What a rank has sent and reduced so far.
struct CommCounters {
  std::int64_t collectives = 0;
  std::int64_t collective_bytes = 0;
  std::int64_t transfers = 0;
  std::int64_t transfer_bytes = 0;
};

// A started collective or send. The buffer belongs to it until wait() returns. Of a collective a
// destructor without wait() abandons the result, and the buffer's contents with it; the peers are
// not affected.
class Work {
 public:
  virtual ~Work() = default;
  // What the rank's backend does next finds the buffer filled. A second wait does nothing. Errors:
  // HangError, PeerLostError.
  virtual void wait() = 0;
};

// One group of ranks as seen by one of them; used by that rank's thread alone. Collectives must be
// called by every member in the same order with the same count. All members' backends are of one
// kind and type.
//
// A rank that fails only leaves. A member that waits for what such a rank will never send gets
// PeerLostError; collectives already complete stay complete. A wait that cannot end although every
// rank it depends on lives or has finished gets HangError, naming who waits where.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // In place: every member's buffer becomes the sum over the members, added in rank order, so the
  // result is the same to the bit on all. Writes the buffer's memory directly. `what` names the
  // call in messages and traces. The first is done when it returns, for what the rank's backend
  // does next (errors: HangError, PeerLostError); the second is done beside that.
  virtual void all_reduce(Elements buffer, const std::string& what) = 0;
  virtual std::unique_ptr<Work> start_all_reduce(Elements buffer, const std::string& what) = 0;
  // `gathered` = the members' `mine` in rank order; its size is size() times that of `mine`.
  // Errors: std::invalid_argument when it is not.
  virtual void all_gather(Elements mine, Elements gathered, const std::string& what) = 0;
  // Buffered: returns at once, whatever the receiver does, and the memory may be written or freed.
  virtual void send(Elements buffer, int to, const std::string& what) = 0;
  // Unbuffered: the memory must stay as it is until the wait. Of memory that is written before, the
  // receiver gets the old values, the new or some of both, by timing; on the CPU always what is
  // there when this rank next waits for anything or lets go of the Work, as libraries do that move
  // messages only while they are called.
  virtual std::unique_ptr<Work> start_send(Elements buffer, int to, const std::string& what) = 0;
  // Tells the receiver that there is nothing to receive (the framework sends a none).
  virtual void send_none(int to, const std::string& what) = 0;
  // Fills `buffer` with the next message from `from`; false if that message is a none.
  // Errors: HangError, PeerLostError; std::logic_error when the sizes differ.
  virtual bool receive(Elements buffer, int from, const std::string& what) = 0;

  const CommCounters& counters() const { return counters_; }

 protected:
  CommCounters counters_;
};

// All ranks of one job, as a run needs them.
class World {
 public:
  virtual ~World() = default;
  // The group of `members` (world ranks, in group-rank order) as seen by world rank `me`, whose
  // memory is `backend`'s. Every member must use the same list; `group_id` tells groups of equal
  // members apart, and a rank asks for it once. The world and the backend must outlive it. Errors:
  // std::invalid_argument when `me` is no member.
  virtual std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me,
                                              Backend& backend) = 0;
  // Called by a rank's thread when it ends. A rank that failed has left: who waits for it is lost.
  virtual void finished(int world_rank) = 0;
  virtual void failed(int world_rank) = 0;
};

}  // namespace culprit
