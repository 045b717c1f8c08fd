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
            int me, int group_rank, std::string what)
      : world_(world),
        key_(key),
        members_(members),
        me_(me),
        member_(static_cast<std::size_t>(group_rank)),
        what_(std::move(what)) {}
  ~LocalWork() override {
    if (taken_) return;
    const std::lock_guard lock(world_.mutex_);
    auto& collective = world_.collectives_.at(key_);
    collective.exchange->abandon(member_);
    leave(collective);
  }

  void wait() override {
    if (waited_) return;
    waited_ = true;
    std::unique_lock lock(world_.mutex_);
    auto& collective = world_.collectives_.at(key_);
    world_.wait(lock, me_, what_, [this, &collective] {
      std::vector<int> missing;
      for (std::size_t i = 0; i < members_.size(); ++i)
        if (!collective.num_elements[i]) missing.push_back(members_[i]);
      return missing;
    });
    if (!collective.complete) throw mismatch(collective);
    collective.exchange->take(member_);
    taken_ = true;
    leave(collective);
  }

 private:
  void leave(LocalWorld::Collective& collective) {
    if (++collective.left == members_.size()) world_.collectives_.erase(key_);
  }
  SubjectError mismatch(const LocalWorld::Collective& collective) const {
    const auto& counts = collective.num_elements;
    const auto odd = std::find_if(counts.begin(), counts.end(),
                                  [&](const auto& count) { return *count != *counts[0]; });
    return {
        kind::kCollectiveMismatch,
        fmt::format("{}: rank {} gave {} elements, rank {} gave {}", what_, members_[0], *counts[0],
                    members_[static_cast<std::size_t>(odd - counts.begin())], **odd)};
  }

  LocalWorld& world_;
  LocalWorld::CollectiveKey key_;
  const std::vector<int>& members_;
  int me_;
  std::size_t member_;
  std::string what_;
  bool waited_ = false;
  bool taken_ = false;
};

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(LocalWorld& world, int group_id, std::vector<int> members, int me,
                    Backend& backend)
      : world_(world),
        group_id_(group_id),
        members_(std::move(members)),
        me_(me),
        backend_(backend) {
    const auto place = std::find(members_.begin(), members_.end(), me);
    if (place == members_.end())
      throw std::invalid_argument(fmt::format("[group] rank {} is not a member", me));
    rank_ = static_cast<int>(place - members_.begin());
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }

  std::unique_ptr<Work> start_all_reduce(Elements buffer, const std::string& what) override {
    return join(ExchangeKind::kSum, buffer, buffer, what);
  }
  void all_gather(Elements mine, Elements gathered, const std::string& what) override {
    if (gathered.num_elements != mine.num_elements * size())
      throw std::invalid_argument(fmt::format("[all_gather] got {} elements for {} members of {}",
                                              gathered.num_elements, members_.size(),
                                              mine.num_elements));
    join(ExchangeKind::kGather, mine, gathered, what)->wait();
  }

  void send(Elements buffer, int to, const std::string&) override {
    counters_.transfer_bytes += backend_.num_bytes(buffer.num_elements);
    post(to, {.parcel = backend_.pack(buffer.data, buffer.num_elements),
              .num_elements = buffer.num_elements});
  }
  void send_none(int to, const std::string&) override { post(to, {}); }

  bool receive(Elements buffer, int from, const std::string& what) override {
    const int peer = members_.at(from);
    const LocalWorld::Message message = next_message(peer, what);
    if (!message.parcel) return false;
    if (message.num_elements != buffer.num_elements)
      throw std::logic_error(fmt::format("[receive] got {} elements from rank {}, expected {}",
                                         message.num_elements, peer, buffer.num_elements));
    backend_.unpack(*message.parcel, buffer.data, buffer.num_elements);
    return true;
  }

 private:
  std::unique_ptr<Work> join(ExchangeKind kind, Elements mine, Elements result,
                             const std::string& what) {
    counters_.collectives += 1;
    counters_.collective_bytes += backend_.num_bytes(mine.num_elements);
    const LocalWorld::CollectiveKey key{group_id_, next_call_++};
    const std::lock_guard lock(world_.mutex_);
    auto& collective = world_.collectives_[key];
    if (!collective.exchange) collective.exchange = backend_.make_exchange(members_.size());
    collective.num_elements.resize(members_.size());
    collective.exchange->give(static_cast<std::size_t>(rank_), backend_, kind, mine.data,
                              result.data, mine.num_elements);
    collective.num_elements[rank_] = mine.num_elements;
    if (++collective.arrived == members_.size()) {
      const auto& counts = collective.num_elements;
      collective.complete = std::all_of(counts.begin(), counts.end(),
                                        [&](const auto& c) { return *c == *counts[0]; });
      if (collective.complete) collective.exchange->complete();
      world_.settle();
    }
    return std::make_unique<LocalWork>(world_, key, members_, me_, rank_, what);
  }
  void post(int to, LocalWorld::Message message) {
    counters_.transfers += 1;
    const std::lock_guard lock(world_.mutex_);
    world_.channels_[{group_id_, {me_, members_.at(to)}}].push_back(std::move(message));
    world_.settle();
  }
  LocalWorld::Message next_message(int peer, const std::string& what) {
    std::unique_lock lock(world_.mutex_);
    auto& channel = world_.channels_[{group_id_, {peer, me_}}];
    world_.wait(lock, me_, what,
                [&] { return channel.empty() ? std::vector<int>{peer} : std::vector<int>{}; });
    LocalWorld::Message message = std::move(channel.front());
    channel.pop_front();
    return message;
  }

  LocalWorld& world_;
  int group_id_;
  std::vector<int> members_;
  int me_;
  Backend& backend_;
  int rank_ = 0;
  std::uint64_t next_call_ = 0;
};

std::unique_ptr<Communicator> LocalWorld::group(int group_id, std::vector<int> members, int me,
                                                Backend& backend) {
  return std::make_unique<LocalCommunicator>(*this, group_id, std::move(members), me, backend);
}

}  // namespace culprit
