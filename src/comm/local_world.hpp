// The default communicator: ranks are threads of one process. Their backends move the memory
// (Parcel, Exchange).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/rank_table.hpp"
#include "comm/started_sends.hpp"

namespace culprit {

// All ranks of one job. It knows of every rank whether it runs, waits (and for whom), has finished
// or has failed, so a wait that can never end is seen at once and exactly, without a timer.
// Thread-safe.
class LocalWorld final : public World {
 public:
  // `patience`: how long a rank that has come to a collective or waits looks out for its peers
  // before it goes on or sleeps.
  LocalWorld(int size, std::chrono::microseconds patience);
  ~LocalWorld() override;

  std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me,
                                      Backend& backend) override;
  void finished(int world_rank) override;
  void failed(int world_rank) override;

 private:
  friend class LocalCommunicator;
  friend class LocalWork;

  // Under the mutex until `all_came`, after it read by any member.
  struct Collective {
    std::atomic<bool> all_came{false};
    bool is_mismatch = false;  // they came with unequally much
    // Exchange::complete: who looks out for the others at this moment, a bit each; kClosed: the last
    // has come, and who looked out then is counted on.
    std::atomic<std::uint64_t> attends{0};
    std::size_t arrived = 0;
    std::int64_t first_num_elements = 0;
    std::unique_ptr<Exchange> exchange;
    std::optional<Trouble> failure;  // of the harness: nobody gets a result
    std::vector<std::optional<std::int64_t>> num_elements;  // by group rank; none: has not come
  };
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << Exchange::kMostAttending;
  // A group's collectives that some member has yet to come to, oldest first, from call number
  // `first_call` on.
  struct Group {
    std::uint64_t first_call = 0;
    std::vector<std::shared_ptr<Collective>> collectives;
  };
  struct Message {
    std::shared_ptr<Parcel> parcel;  // null: a none
    std::int64_t num_elements = 0;
  };
  using ChannelKey = std::pair<int, std::pair<int, int>>;  // group id, (from, to) world ranks

  Group& group_of(int group_id);
  std::unique_lock<std::mutex> lock();
  using Time = std::chrono::steady_clock::time_point;
  // Looks out until seen() or, at the latest, `until`. Returns the last answer.
  template <class Seen>
  static bool look_out(Time until, Seen seen);
  Time patience_ends() const { return std::chrono::steady_clock::now() + patience_; }
  // Blocks `me` until missing() is empty. Holds `lock` on entry and return.
  void wait(std::unique_lock<std::mutex>& lock, int me, const std::string& what,
            RankTable::Missing missing);
  // Wakes every waiting rank whose wait has become possible or impossible. Needs the mutex.
  void settle();

  std::mutex mutex_;
  int watchers_ = 0;  // ranks that look out for a change, or sleep until one
  std::chrono::microseconds patience_;
  RankTable ranks_;
  std::atomic<std::uint64_t> changes_{0};      // what settle() was called for, counted
  std::vector<std::condition_variable> wake_;  // by rank
  std::vector<StartedSends> started_sends_;    // by rank, each its thread's alone
  std::map<int, Group> groups_;                // by group id
  std::map<ChannelKey, std::deque<Message>> channels_;
};

}  // namespace culprit
