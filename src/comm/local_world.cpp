#include "comm/local_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/subject_error.hpp"

namespace culprit {

LocalWorld::LocalWorld(int size) : ranks_(size), wake_(ranks_.size()), started_sends_(wake_.size()) {}
LocalWorld::~LocalWorld() = default;

void LocalWorld::finished(int world_rank) {
  const std::lock_guard lock(mutex_);
  ranks_.finished(world_rank);
  settle();
}

void LocalWorld::failed(int world_rank) {
  const std::lock_guard lock(mutex_);
  ranks_.failed(world_rank);
  settle();
}

void LocalWorld::wait(std::unique_lock<std::mutex>& lock, int me, const std::string& what,
                      RankTable::Missing missing) {
  if (missing().empty()) return;
  ranks_.starts_waiting(me, what, std::move(missing));
  settle();
  wake_[me].wait(lock, [&] { return ranks_.verdict(me) != RankTable::Verdict::kNone; });
  ranks_.goes_on(me);
  if (ranks_.verdict(me) == RankTable::Verdict::kPeerLost) throw PeerLostError(ranks_.reason(me));
  if (ranks_.verdict(me) == RankTable::Verdict::kHang) throw HangError(ranks_.reason(me));
}

void LocalWorld::settle() {
  ranks_.settle([this](int rank) { wake_[rank].notify_one(); });
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
    world_.started_sends_[me_].flush();
    std::unique_lock lock(world_.mutex_);
    auto& collective = world_.collectives_.at(key_);
    world_.wait(lock, me_, what_, [this, &collective] {
      std::vector<int> missing;
      for (std::size_t i = 0; i < members_.size(); ++i)
        if (!collective.num_elements[i]) missing.push_back(members_[i]);
      return missing;
    });
    if (!collective.complete)
      throw SubjectError(kind::kCollectiveMismatch,
                         mismatch_text(what_, members_, collective.num_elements));
    collective.exchange->take(member_);
    taken_ = true;
    leave(collective);
  }

 private:
  void leave(LocalWorld::Collective& collective) {
    if (++collective.left == members_.size()) world_.collectives_.erase(key_);
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
  std::unique_ptr<Work> start_send(Elements buffer, int to, const std::string&) override {
    counters_.transfer_bytes += backend_.num_bytes(buffer.num_elements);
    const std::shared_ptr<Parcel> parcel = backend_.start_pack(buffer.data, buffer.num_elements);
    return world_.started_sends_[me_].start([this, parcel, to, count = buffer.num_elements] {
      backend_.finish_pack(*parcel);
      post(to, {.parcel = parcel, .num_elements = count});
    });
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
    world_.started_sends_[me_].flush();
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
