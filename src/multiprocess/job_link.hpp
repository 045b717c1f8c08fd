// This process's end of its job: the connection to the coordinator.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.hpp"
#include "comm/process_group.hpp"
#include "multiprocess/coordinator.hpp"
#include "multiprocess/deadline.hpp"
#include "multiprocess/messages.hpp"

namespace culprit {

struct JobSettings {
  int rank = 0;
  int size = 1;
  std::string address;  // where rank 0 listens
  int port = 0;
  std::string key;
  std::chrono::milliseconds meeting_deadline{60000};
  std::chrono::milliseconds stall_deadline{60000};
};

// What the coordinator tells beside answers; called on the connection's thread, in its order.
class JobListener {
 public:
  virtual ~JobListener() = default;
  // kComplete, kTransfer, kDropped.
  virtual void told(FromCoordinator kind, const std::string& fields) = 0;
  // The job can't go on: whatever waits must end. May take its time, as libraries do that break off
  // what is under way: nobody listens for this process's beats any more, and it ends in any case.
  virtual void ended() noexcept = 0;
};

// A process whose job has ended must end too, whatever its threads are at: if it has not some
// seconds later, this class ends it, with the job's words on stderr and its exit status.
class JobLink final : public ProcessGroup {
 public:
  // Rank 0 gives its listener and gets the coordinator with it. Errors: SetupError when the
  // processes do not meet within the deadline, or rank 0 says that this one is none of them.
  JobLink(const JobSettings& settings, std::optional<Listener> listener);
  ~JobLink() override;

  int rank() const override { return settings_.rank; }
  int size() const override { return settings_.size; }
  std::vector<std::string> gather(std::string mine) override;
  std::string broadcast(std::string from_rank_0) override;
  void tick() override { operations_.fetch_add(1, std::memory_order_relaxed); }

  void send(ByteWriter message) { channel_->send(message.take()); }
  // Waits for the next message of that kind and gives its fields. Errors: JobEndedError.
  std::string answer(FromCoordinator kind);
  // Null: nobody. The listener must outlive its time here.
  void set_listener(JobListener* listener);
  // Errors: JobEndedError once the job has ended.
  void require_going_on();
  bool has_ended();

 private:
  // Connects, and waits until rank 0 has let this process in. Errors: SetupError.
  void come_in();
  void run(const std::stop_token& stop);
  void receive(const std::string& text);
  void end(Trouble why);

  JobSettings settings_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Channel> channel_;
  std::atomic<std::uint64_t> operations_{0};
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<std::pair<FromCoordinator, std::string>> answer_;
  std::optional<JobEndedError> ended_;
  JobListener* listener_ = nullptr;
  std::optional<Deadline> watchdog_;  // once the job has ended
  std::jthread thread_;
};

}  // namespace culprit
