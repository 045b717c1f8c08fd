// The default communicator: ranks are threads of one process. Their backends move the memory
// (Parcel, Exchange).
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/rank_table.hpp"
#include "comm/started_sends.hpp"

namespace culprit {

// All ranks of one job. It knows of every rank whether it runs, waits (and for whom), has finished
// or has failed, so a wait that can never end is seen at once and exactly, without a timer.
// Thread-safe.
class LocalWorld final : public World {
 public:
  explicit LocalWorld(int size);
  ~LocalWorld() override;

  std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me,
                                      Backend& backend) override;
  void finished(int world_rank) override;
  void failed(int world_rank) override;

 private:
  friend class LocalCommunicator;
  friend class LocalWork;

  struct Collective {
    std::unique_ptr<Exchange> exchange;
    std::vector<std::optional<std::int64_t>> num_elements;  // by group rank; none: has not come
    std::size_t arrived = 0;
    std::size_t left = 0;
    bool complete = false;  // all have come with equally much
  };
  using CollectiveKey = std::pair<int, std::uint64_t>;  // group id, call number in the group
  struct Message {
    std::shared_ptr<Parcel> parcel;  // null: a none
    std::int64_t num_elements = 0;
  };
  using ChannelKey = std::pair<int, std::pair<int, int>>;  // group id, (from, to) world ranks

  // Blocks `me` until missing() is empty. Holds `lock` on entry and return.
  void wait(std::unique_lock<std::mutex>& lock, int me, const std::string& what,
            RankTable::Missing missing);
  // Wakes every waiting rank whose wait has become possible or impossible. Needs the mutex.
  void settle();

  std::mutex mutex_;
  RankTable ranks_;
  std::vector<std::condition_variable> wake_;  // by rank
  std::vector<StartedSends> started_sends_;    // by rank, each its thread's alone
  std::map<CollectiveKey, Collective> collectives_;
  std::map<ChannelKey, std::deque<Message>> channels_;
};

}  // namespace culprit
