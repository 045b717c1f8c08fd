// How ranks that are processes move elements: through MPI or through NCCL. Who has come, and
// whether all ever will, is not its matter (ProcessWorld, coordinator).
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tensor/device.hpp"

namespace culprit {

// Thrown by what waited when abort() was called.
class PathAborted : public std::exception {
 public:
  const char* what() const noexcept override { return "the job has ended"; }
};

// This rank's part in one collective or transfer.
class PathPart {
 public:
  virtual ~PathPart() = default;
  // Once all members have come with equally much, or message and receiver have met; on the
  // launching thread, which makes these calls in the same order in every process. `token`: of the
  // group's first member, or of the sender. `kinds_differ`: members ask for different things.
  virtual void launch(const std::string& token, bool kinds_differ) = 0;
  // After launch(), by the rank: what its backend does next finds the result. Errors: PathAborted.
  virtual void take() = 0;
  // Instead of take(), by the rank, before, during or after launch(): its memory may go, the peers
  // are not affected. The part lives on until it was launched, or until the world ends. Where it
  // throws, a launch() that comes throws too.
  virtual void abandon() = 0;
};

class DataPath {
 public:
  virtual ~DataPath() = default;
  // What the others need to join a group of these ranks that this rank is the first of; empty where
  // nothing is needed.
  virtual std::string token(const std::vector<int>& members) = 0;
  // At least Tags::kLeast.
  virtual int largest_tag() const = 0;
  // `tag` is the same for all members and unlike that of other collectives under way.
  // Called by the rank that `members[me]` is, `backend` its own. `call.mine` is read from now on,
  // in the order of the backend's work.
  virtual std::shared_ptr<PathPart> start(Backend& backend, const std::vector<int>& members,
                                          std::size_t me, int tag, const CollectiveCall& call) = 0;
  // Messages of one tag arrive in order.
  virtual std::shared_ptr<PathPart> send(Backend& backend, int me, int to, int tag,
                                         std::shared_ptr<Parcel> parcel,
                                         std::int64_t num_elements) = 0;
  virtual std::shared_ptr<PathPart> receive(Backend& backend, int me, int from, int tag,
                                            std::byte* data, std::int64_t num_elements) = 0;
  // By the rank, of a message of so many elements that nobody receives: it is launched nowhere, and
  // the next of its tag must not find it in its place. Errors: PathAborted.
  virtual void drop(Backend& backend, int from, int tag, std::int64_t num_elements) = 0;
  // The job can't go on: whatever waits must end. Any thread.
  virtual void abort() noexcept = 0;
  // Messages sent to each process since the last close(), and, once all processes have ended the
  // world, the end of it: what was sent to this rank and never taken is dropped.
  virtual std::vector<std::int64_t> sent(int num_processes) = 0;
  virtual void close(const std::vector<std::int64_t>& sent_to_me) = 0;
};

// A device whose memory such a path moves.
class PathDevice : public Device {
 public:
  virtual DataPath& path() = 0;
};

}  // namespace culprit
