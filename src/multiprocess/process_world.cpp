#include "multiprocess/process_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "base/error.hpp"
#include "base/subject_error.hpp"
#include "comm/member_communicator.hpp"
#include "comm/rank_table.hpp"

namespace culprit {
namespace {

ByteWriter broken_message(const Trouble& trouble) {
  ByteWriter broken = message_of(ToCoordinator::kBroken);
  broken.put_trouble(trouble);
  return broken;
}

}  // namespace

ProcessWorld::ProcessWorld(JobLink& link, DataPath& path, int size)
    : link_(link), path_(path), tags_(path.largest_tag()) {
  launcher_ = std::jthread([this](const std::stop_token& stop) { run_launches(stop); });
  link_.set_listener(this);
  ByteWriter open = message_of(ToCoordinator::kOpen);
  open.put(size);
  link_.send(std::move(open));
}

ProcessWorld::~ProcessWorld() {
  try {
    ByteWriter close = message_of(ToCoordinator::kClose);
    close.put_list(path_.sent(link_.size()));
    link_.send(std::move(close));
    const std::string fields = link_.answer(FromCoordinator::kClosed);
    // Whatever the others wait for has been told by now: all of it is launched first.
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return tasks_.empty() || is_over_; });
    }
    launcher_ = {};
    path_.close(ByteReader(fields).get_list<std::int64_t>());
  } catch (const std::exception&) {
    // Where the job has ended, whoever asks the link for anything more is told.
    if (!link_.has_ended()) link_.send(broken_message(trouble_of(std::current_exception())));
  }
  link_.set_listener(nullptr);
}

void ProcessWorld::finished(int) { link_.send(message_of(ToCoordinator::kFinished)); }
void ProcessWorld::failed(int) { link_.send(message_of(ToCoordinator::kFailed)); }

void ProcessWorld::told(FromCoordinator kind, const std::string& fields) {
  ByteReader reader(fields);
  const int group = reader.get<int>();
  Task task;
  const std::lock_guard lock(mutex_);
  if (kind == FromCoordinator::kDropped) {
    // Else the next message of the channel would be taken for this one.
    sends_.at({group, {link_.rank(), reader.get<int>()}}).pop_front();
    return;
  }
  if (kind == FromCoordinator::kComplete) {
    const auto call = reader.get<std::uint64_t>();
    task.kinds_differ = reader.get<bool>();
    task.launch = collectives_.extract({group, call}).mapped();
  } else {
    const int from = reader.get<int>(), to = reader.get<int>();
    const TransferKey key{group, {from, to}};
    if (from == link_.rank()) {
      auto& queue = sends_.at(key);
      tasks_.push_back({.launch = std::move(queue.front()), .token = {}});
      queue.pop_front();
    }
    if (to == link_.rank()) task.launch = receives_.extract(key).mapped();
    task.token = reader.get_text();
    if (from == link_.rank()) tasks_.back().token = task.token;
    changed_.notify_all();
    if (!task.launch) return;
    tasks_.push_back(std::move(task));
    return;
  }
  task.token = reader.get_text();
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void ProcessWorld::ended() noexcept {
  path_.abort();
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

void ProcessWorld::run_launches(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !tasks_.empty(); })) {
    const Task task = tasks_.front();
    std::optional<Trouble> error = task.launch->error;
    lock.unlock();
    if (!error) try {
        task.launch->part->launch(task.token, task.kinds_differ);
      } catch (...) {
        error = trouble_of(std::current_exception());
      }
    lock.lock();
    if (error) task.launch->error = error;  // else its memory may be lost since
    task.launch->done = true;
    tasks_.pop_front();  // only now: the queue says what is under way
    changed_.notify_all();
    if (task.launch->error) tell_broken(lock, *task.launch->error);
  }
}

void ProcessWorld::tell_broken(std::unique_lock<std::mutex>& lock, Trouble trouble) {
  if (changed_.wait_for(lock, std::chrono::seconds(1), [&] { return is_over_; })) return;
  try {
    link_.send(broken_message(trouble));
  } catch (const std::exception&) {
    // The connection is gone, and with it the job.
  }
}

void ProcessWorld::give_up(Launch& launch, Trouble trouble) {
  std::unique_lock lock(mutex_);
  if (launch.error) return;  // told already
  launch.error = std::move(trouble);
  if (launch.done) tell_broken(lock, *launch.error);
}

void ProcessWorld::take(Launch& launch) {
  on_path([&] {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return (launch.done && !launch.error) || is_over_; });
      if (!launch.done || launch.error) throw PathAborted();
    }
    launch.part->take();
  });
}

void ProcessWorld::withdraw(const TransferKey& key, const std::shared_ptr<Launch>& launch) {
  std::unique_lock lock(mutex_);
  receives_.erase(key);
  const auto task = std::find_if(tasks_.begin(), tasks_.end(),
                                 [&](const Task& each) { return each.launch == launch; });
  if (task == tasks_.end()) return;
  if (task != tasks_.begin())
    tasks_.erase(task);
  else
    changed_.wait(lock, [&] { return launch->done; });  // it is under way; abort() ends it
}

class ProcessWork final : public Work {
 public:
  ProcessWork(ProcessWorld& world, int group_id, std::uint64_t call, std::string what,
              std::shared_ptr<ProcessWorld::Launch> launch)
      : world_(world),
        group_id_(group_id),
        call_(call),
        what_(std::move(what)),
        launch_(std::move(launch)) {}
  ~ProcessWork() override {
    if (taken_) return;
    try {
      launch_->part->abandon();
    } catch (...) {
      world_.give_up(*launch_, trouble_of(std::current_exception()));
    }
  }

  void wait() override {
    if (waited_) return;
    waited_ = true;
    world_.started_sends_.flush();
    ByteWriter ask = message_of(ToCoordinator::kWaitJoin);
    ask.put(group_id_);
    ask.put(call_);
    ask.put_text(what_);
    world_.link_.send(std::move(ask));
    const std::string fields = world_.link_.answer(FromCoordinator::kVerdict);
    ByteReader reader(fields);
    const auto verdict = reader.get<RankTable::Verdict>();
    const std::string reason = reader.get_text();
    if (verdict == RankTable::Verdict::kPeerLost) throw PeerLostError(reason);
    if (verdict == RankTable::Verdict::kHang) throw HangError(reason);
    if (const std::string mismatch = reader.get_text(); !mismatch.empty())
      throw SubjectError(kind::kCollectiveMismatch, mismatch);
    taken_ = true;
    world_.take(*launch_);
  }

 private:
  ProcessWorld& world_;
  int group_id_;
  std::uint64_t call_;
  std::string what_;
  std::shared_ptr<ProcessWorld::Launch> launch_;
  bool waited_ = false;
  bool taken_ = false;
};

class ProcessCommunicator final : public MemberCommunicator {
 public:
  ProcessCommunicator(ProcessWorld& world, int group_id, std::vector<int> members, int me,
                      Backend& backend)
      : MemberCommunicator(std::move(members), me, backend, world.started_sends_),
        world_(world),
        group_id_(group_id) {
    if (group_id < 0 || group_id >= Tags::kMostGroups)
      throw std::invalid_argument(
          fmt::format("[group] got group {}, expected one below {}", group_id, Tags::kMostGroups));
  }

 private:
  std::unique_ptr<Work> join(const CollectiveCall& call, const std::string& what) override {
    const std::uint64_t number = next_call_++;
    auto launch = std::make_shared<ProcessWorld::Launch>();
    world_.on_path([&] {
      launch->part = world_.path_.start(backend(), members(), static_cast<std::size_t>(rank()),
                                        world_.tags_.collective(group_id_, number), call);
    });
    {
      const std::lock_guard lock(world_.mutex_);
      world_.collectives_[{group_id_, number}] = launch;
    }
    ByteWriter joined = message_of(ToCoordinator::kJoin);
    joined.put(group_id_);
    joined.put(number);
    joined.put(rank());
    joined.put_list(members());
    joined.put(static_cast<int>(call.kind));
    joined.put(call.num_elements);
    joined.put_text(rank() == 0 ? world_.path_.token(members()) : "");
    world_.link_.send(std::move(joined));
    return std::make_unique<ProcessWork>(world_, group_id_, number, what, std::move(launch));
  }

  void leave(int to, std::shared_ptr<Parcel> parcel, std::int64_t num_elements) override {
    const bool is_none = !parcel;
    if (!is_none) {
      auto launch = std::make_shared<ProcessWorld::Launch>();
      world_.on_path([&] {
        launch->part = world_.path_.send(backend(), me(), to, world_.tags_.message(group_id_),
                                         std::move(parcel), num_elements);
      });
      const std::lock_guard lock(world_.mutex_);
      world_.sends_[{group_id_, {me(), to}}].push_back(std::move(launch));
    }
    ByteWriter posted = message_of(ToCoordinator::kPost);
    posted.put(group_id_);
    posted.put(to);
    posted.put(is_none);
    posted.put(num_elements);
    posted.put_text(is_none ? "" : world_.path_.token({me(), to}));
    world_.link_.send(std::move(posted));
  }

  std::int64_t fetch(Elements buffer, int from, const std::string& what) override {
    const auto launch = std::make_shared<ProcessWorld::Launch>();
    launch->part = world_.path_.receive(backend(), me(), from, world_.tags_.message(group_id_),
                                        buffer.data, buffer.num_elements);
    const ProcessWorld::TransferKey key{group_id_, {from, me()}};
    {
      const std::lock_guard lock(world_.mutex_);
      world_.receives_[key] = launch;
    }
    const Withdrawal withdrawal{world_, key, launch};
    ByteWriter ask = message_of(ToCoordinator::kWaitPost);
    ask.put(group_id_);
    ask.put(from);
    ask.put(buffer.num_elements);
    ask.put_text(what);
    world_.link_.send(std::move(ask));
    const std::string fields = world_.link_.answer(FromCoordinator::kVerdict);
    ByteReader reader(fields);
    const auto verdict = reader.get<RankTable::Verdict>();
    const std::string reason = reader.get_text();
    std::int64_t num_elements = kNone;
    if (verdict == RankTable::Verdict::kReady) {
      const bool is_none = reader.get<bool>();
      const auto told = reader.get<std::int64_t>();
      if (!is_none) num_elements = told;
    }
    if (num_elements == buffer.num_elements)
      world_.take(*launch);
    else if (num_elements != kNone)
      world_.on_path([&] {
        world_.path_.drop(backend(), from, world_.tags_.message(group_id_), num_elements);
      });
    if (verdict == RankTable::Verdict::kPeerLost) throw PeerLostError(reason);
    if (verdict == RankTable::Verdict::kHang) throw HangError(reason);
    return num_elements;
  }

  // However the wait for a message ends, the memory that it was for may go.
  struct Withdrawal {
    ~Withdrawal() { world.withdraw(key, launch); }
    ProcessWorld& world;
    ProcessWorld::TransferKey key;
    std::shared_ptr<ProcessWorld::Launch> launch;
  };

  ProcessWorld& world_;
  int group_id_;
  std::uint64_t next_call_ = 0;
};

std::unique_ptr<Communicator> ProcessWorld::group(int group_id, std::vector<int> members, int me,
                                                  Backend& backend) {
  return std::make_unique<ProcessCommunicator>(*this, group_id, std::move(members), me, backend);
}

}  // namespace culprit
