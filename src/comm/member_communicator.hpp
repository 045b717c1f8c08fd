// What a communicator is made of wherever its ranks run: the group, the checks of a call, what is
// counted. How members meet is its world's matter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/started_sends.hpp"

namespace culprit {

class MemberCommunicator : public Communicator {
 public:
  int rank() const final { return rank_; }
  int size() const final { return static_cast<int>(members_.size()); }

  void all_reduce(Elements buffer, const std::string& what) final;
  std::unique_ptr<Work> start_all_reduce(Elements buffer, const std::string& what) final;
  void all_gather(Elements mine, Elements gathered, const std::string& what) final;
  void send(Elements buffer, int to, const std::string& what) final;
  std::unique_ptr<Work> start_send(Elements buffer, int to, const std::string& what) final;
  void send_none(int to, const std::string& what) final;
  bool receive(Elements buffer, int from, const std::string& what) final;

 protected:
  // `me` and `members` are world ranks; `started` the rank's own. `backend` and `started` must
  // outlive it. Errors: std::invalid_argument when `me` is no member.
  MemberCommunicator(std::vector<int> members, int me, Backend& backend, StartedSends& started);

  // Takes this member's part in the group's next collective.
  virtual std::unique_ptr<Work> join(const CollectiveCall& call, const std::string& what) = 0;
  // A message for world rank `to` is under way; no parcel: a none.
  virtual void leave(int to, std::shared_ptr<Parcel> parcel, std::int64_t num_elements) = 0;
  // Waits for the next message from world rank `from`, after all started sends have left, and
  // fetches it if it is as long as `buffer`. Returns its length; below 0: a none. Errors:
  // HangError, PeerLostError.
  virtual std::int64_t fetch(Elements buffer, int from, const std::string& what) = 0;

  const std::vector<int>& members() const { return members_; }
  int me() const { return me_; }
  Backend& backend() const { return backend_; }

  static constexpr std::int64_t kNone = -1;

 private:
  std::unique_ptr<Work> counted_join(const CollectiveCall& call, const std::string& what);
  void counted_leave(int to, std::shared_ptr<Parcel> parcel, std::int64_t num_elements);

  std::vector<int> members_;
  int me_;
  int rank_;
  Backend& backend_;
  StartedSends& started_;
};

}  // namespace culprit
