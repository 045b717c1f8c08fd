// Ranks that are processes: each rank's calls go to the coordinator, its elements over a data path.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator.hpp"
#include "comm/started_sends.hpp"
#include "multiprocess/data_path.hpp"
#include "multiprocess/job_link.hpp"
#include "multiprocess/tags.hpp"

namespace culprit {

// The world of this process's rank, which is its rank in the job. Made and destroyed by all
// processes of the job together, ranks of the world or not.
class ProcessWorld final : public World, private JobListener {
 public:
  // Both must outlive it.
  ProcessWorld(JobLink& link, DataPath& path, int size);
  ~ProcessWorld() override;

  std::unique_ptr<Communicator> group(int group_id, std::vector<int> members, int me,
                                      Backend& backend) override;
  void finished(int world_rank) override;
  void failed(int world_rank) override;

 private:
  friend class ProcessCommunicator;
  friend class ProcessWork;

  // A part and what became of its launch.
  struct Launch {
    std::shared_ptr<PathPart> part;
    bool done = false;
    std::optional<Trouble> error;
  };
  using CollectiveKey = std::pair<int, std::uint64_t>;      // group, call
  using TransferKey = std::pair<int, std::pair<int, int>>;  // group, (from, to)

  void told(FromCoordinator kind, const std::string& fields) override;
  void ended() noexcept override;
  void run_launches(const std::stop_token& stop);
  // Ends the job for what a part threw, unless it has ended by itself by then: often that is a
  // library's words for a process that is gone, which the coordinator names within a second.
  void tell_broken(std::unique_lock<std::mutex>& lock, Trouble trouble);
  // The part's memory goes, and could not be replaced: where it was launched the job ends now, else
  // when it should be.
  void give_up(Launch& launch, Trouble trouble);
  // Waits until the part is launched, then takes it. Errors: JobEndedError, also where it could not
  // be launched, here or at another member.
  void take(Launch& launch);
  // From now on nothing is received into the part's memory, whether a message was told or not.
  void withdraw(const TransferKey& key, const std::shared_ptr<Launch>& launch);
  // Runs `action`, which may wait on the data path. Errors: JobEndedError instead of PathAborted.
  template <class Action>
  void on_path(Action action) {
    try {
      action();
    } catch (const PathAborted&) {
      link_.require_going_on();
      throw;
    }
  }

  JobLink& link_;
  DataPath& path_;
  Tags tags_;
  StartedSends started_sends_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<CollectiveKey, std::shared_ptr<Launch>> collectives_;      // not launched yet
  std::map<TransferKey, std::deque<std::shared_ptr<Launch>>> sends_;  // likewise
  std::map<TransferKey, std::shared_ptr<Launch>> receives_;           // likewise
  struct Task {
    std::shared_ptr<Launch> launch;
    std::string token;
    bool kinds_differ = false;
  };
  std::deque<Task> tasks_;
  bool is_over_ = false;
  std::jthread launcher_;
};

}  // namespace culprit
