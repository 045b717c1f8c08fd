#include "comm/local_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/subject_error.hpp"

namespace culprit {

LocalWorld::LocalWorld(int size) {
  for (int i = 0; i < size; ++i) ranks_.push_back(std::make_unique<Rank>());
}
LocalWorld::~LocalWorld() = default;

void LocalWorld::finished(int world_rank) {
  const std::lock_guard lock(mutex_);
  ranks_[world_rank]->state = State::kFinished;
  settle();
}

void LocalWorld::failed(int world_rank) {
  const std::lock_guard lock(mutex_);
  ranks_[world_rank]->state = State::kFailed;
  settle();
}

void LocalWorld::wait(std::unique_lock<std::mutex>& lock, int me, const std::string& what,
                      std::function<std::vector<int>()> missing) {
  if (missing().empty()) return;
  Rank& rank = *ranks_[me];
  rank.state = State::kWaiting;
  rank.waits_at = what;
  rank.missing = std::move(missing);
  rank.verdict = Verdict::kNone;
  settle();
  rank.wake.wait(lock, [&] { return rank.verdict != Verdict::kNone; });
  rank.missing = nullptr;
  rank.state = State::kRunning;
  if (rank.verdict == Verdict::kPeerLost) throw PeerLostError(rank.reason);
  if (rank.verdict == Verdict::kHang) throw HangError(rank.reason);
}

void LocalWorld::settle() {
  const auto decide = [](Rank& rank, Verdict verdict, std::string reason) {
    rank.verdict = verdict;
    rank.reason = std::move(reason);
    rank.wake.notify_one();
  };
  const auto undecided = [](const Rank& rank) {
    return rank.state == State::kWaiting && rank.verdict == Verdict::kNone;
  };
  bool any_can_move = false;
  for (std::size_t me = 0; me < ranks_.size(); ++me) {
    Rank& rank = *ranks_[me];
    any_can_move |= rank.state == State::kRunning ||
                    (rank.state == State::kWaiting && rank.verdict != Verdict::kNone);
    if (!undecided(rank)) continue;
    const std::vector<int> missing = rank.missing();
    if (missing.empty()) {
      decide(rank, Verdict::kReady, "");
      any_can_move = true;
      continue;
    }
    const auto in_state = [&](State state) {
      return std::find_if(missing.begin(), missing.end(),
                          [&](int peer) { return ranks_[peer]->state == state; });
    };
    if (const auto peer = in_state(State::kFailed); peer != missing.end()) {
      decide(
          rank, Verdict::kPeerLost,
          fmt::format("rank {} waits in {} for rank {}, which has left", me, rank.waits_at, *peer));
      any_can_move = true;
    } else if (const auto done = in_state(State::kFinished);
               std::all_of(missing.begin(), missing.end(),
                           [&](int member) { return ranks_[member]->state == State::kFinished; })) {
      // Not before: another missing peer may still fail, and then this rank has lost it. What a
      // rank comes to must not depend on which of two peers ends first.
      decide(rank, Verdict::kHang,
             fmt::format("rank {} waits in {} for rank {}, which has finished", me, rank.waits_at,
                         *done));
      any_can_move = true;
    }
  }
  if (any_can_move) return;
  // Nobody runs, and no wait can be decided by itself: the waits form a cycle.
  std::string all;
  for (std::size_t me = 0; me < ranks_.size(); ++me) {
    if (!undecided(*ranks_[me])) continue;
    all += fmt::format("{}rank {} waits in {} for rank", all.empty() ? "" : "; ", me,
                       ranks_[me]->waits_at);
    for (const int peer : ranks_[me]->missing()) all += fmt::format(" {}", peer);
  }
  for (auto& rank : ranks_)
    if (undecided(*rank)) decide(*rank, Verdict::kHang, all);
}

// A collective that this rank has joined.
class LocalWork final : public Work {
 public:
  LocalWork(LocalWorld& world, LocalWorld::CollectiveKey key, const std::vector<int>& members,
            int me, bool gather, std::span<float> buffer, std::string what)
      : world_(world),
        key_(key),
        members_(members),
        me_(me),
        gather_(gather),
        buffer_(buffer),
        what_(std::move(what)) {}

  void wait() override {
    if (waited_) return;
    waited_ = true;
    std::unique_lock lock(world_.mutex_);
    auto& collective = world_.collectives_.at(key_);
    world_.wait(lock, me_, what_, [this, &collective] {
      std::vector<int> missing;
      for (std::size_t i = 0; i < members_.size(); ++i)
        if (!collective.parts[i]) missing.push_back(members_[i]);
      return missing;
    });
    finish(collective);
    if (++collective.left == members_.size()) world_.collectives_.erase(key_);
  }

 private:
  void finish(LocalWorld::Collective& collective) {
    const auto& first = *collective.parts[0];
    for (std::size_t i = 1; i < members_.size(); ++i)
      if (collective.parts[i]->size() != first.size())
        throw SubjectError(
            kind::kCollectiveMismatch,
            fmt::format("{}: rank {} gave {} elements, rank {} gave {}", what_, members_[0],
                        first.size(), members_[i], collective.parts[i]->size()));
    if (gather_) {
      auto out = buffer_.begin();
      for (const auto& part : collective.parts) out = std::copy(part->begin(), part->end(), out);
      return;
    }
    if (collective.total.empty()) {
      collective.total = first;
      for (std::size_t i = 1; i < members_.size(); ++i)
        for (std::size_t j = 0; j < first.size(); ++j)
          collective.total[j] += (*collective.parts[i])[j];
    }
    std::copy(collective.total.begin(), collective.total.end(), buffer_.begin());
  }

  LocalWorld& world_;
  LocalWorld::CollectiveKey key_;
  const std::vector<int>& members_;
  int me_;
  bool gather_;
  std::span<float> buffer_;
  std::string what_;
  bool waited_ = false;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(LocalWorld& world, int group_id, std::vector<int> members, int me)
      : world_(world), group_id_(group_id), members_(std::move(members)), me_(me) {
    const auto place = std::find(members_.begin(), members_.end(), me);
    if (place == members_.end())
      throw std::invalid_argument(fmt::format("[group] rank {} is not a member", me));
    rank_ = static_cast<int>(place - members_.begin());
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  std::unique_ptr<Work> start_all_reduce(std::span<float> buffer,
                                         const std::string& what) override {
    return join(/*gather=*/false, buffer, buffer, what);
  }
  void all_gather(std::span<const float> mine, std::span<float> gathered,
                  const std::string& what) override {
    if (gathered.size() != mine.size() * members_.size())
      throw std::invalid_argument(fmt::format("[all_gather] got {} elements for {} members of {}",
                                              gathered.size(), members_.size(), mine.size()));
    join(/*gather=*/true, mine, gathered, what)->wait();
  }

  void send(std::span<const float> buffer, int to, const std::string&) override {
    post(to, {.none = false, .data = {buffer.begin(), buffer.end()}});
  }
  void send_none(int to, const std::string&) override { post(to, {.none = true, .data = {}}); }

  bool receive(std::span<float> buffer, int from, const std::string& what) override {
    const int peer = members_.at(from);
    std::unique_lock lock(world_.mutex_);
    auto& channel = world_.channels_[{group_id_, {peer, me_}}];
    world_.wait(lock, me_, what,
                [&] { return channel.empty() ? std::vector<int>{peer} : std::vector<int>{}; });
    const LocalWorld::Message message = std::move(channel.front());
    channel.pop_front();
    if (message.none) return false;
    if (message.data.size() != buffer.size())
      throw std::logic_error(fmt::format("[receive] got {} elements from rank {}, expected {}",
                                         message.data.size(), peer, buffer.size()));
    std::copy(message.data.begin(), message.data.end(), buffer.begin());
    return true;
  }

 private:
  std::unique_ptr<Work> join(bool gather, std::span<const float> mine, std::span<float> result,
                             const std::string& what) {
    counters_.collectives += 1;
    counters_.collective_bytes += static_cast<std::int64_t>(mine.size_bytes());
    const LocalWorld::CollectiveKey key{group_id_, next_call_++};
    const std::lock_guard lock(world_.mutex_);
    auto& collective = world_.collectives_[key];
    collective.parts.resize(members_.size());
    collective.parts[rank_] = std::vector<float>(mine.begin(), mine.end());
    if (++collective.arrived == members_.size()) world_.settle();
    return std::make_unique<LocalWork>(world_, key, members_, me_, gather, result, what);
  }
  void post(int to, LocalWorld::Message message) {
    counters_.transfers += 1;
    counters_.transfer_bytes += static_cast<std::int64_t>(message.data.size() * sizeof(float));
    const std::lock_guard lock(world_.mutex_);
    world_.channels_[{group_id_, {me_, members_.at(to)}}].push_back(std::move(message));
    world_.settle();
  }

  LocalWorld& world_;
  int group_id_;
  std::vector<int> members_;
  int me_;
  int rank_ = 0;
  std::uint64_t next_call_ = 0;
};

std::unique_ptr<Communicator> LocalWorld::group(int group_id, std::vector<int> members, int me) {
  return std::make_unique<LocalCommunicator>(*this, group_id, std::move(members), me);
}

}  // namespace culprit
