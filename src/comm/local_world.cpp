#include "comm/local_world.hpp"

#include <thread>
#include <utility>

#include "base/subject_error.hpp"
#include "comm/member_communicator.hpp"

namespace culprit {

LocalWorld::LocalWorld(int size, std::chrono::microseconds patience)
    : patience_(patience), ranks_(size), wake_(ranks_.size()), started_sends_(wake_.size()) {}
LocalWorld::~LocalWorld() = default;

void LocalWorld::finished(int world_rank) {
  const auto held = lock();
  ranks_.finished(world_rank);
  settle();
}

void LocalWorld::failed(int world_rank) {
  const auto held = lock();
  ranks_.failed(world_rank);
  settle();
}

LocalWorld::Group& LocalWorld::group_of(int group_id) {
  const auto held = lock();
  return groups_[group_id];
}

std::unique_lock<std::mutex> LocalWorld::lock() {
  std::unique_lock held(mutex_, std::try_to_lock);
  // It is held for less time than falling asleep for it takes.
  if (!held && patience_.count() > 0) look_out(patience_ends(), [&] { return held.try_lock(); });
  if (!held) held.lock();
  return held;
}

template <class Seen>
bool LocalWorld::look_out(Time until, Seen seen) {
  // Without a pause: only where the rank has a core of its own, and each would add to every
  // message.
  while (!seen())
    if (std::chrono::steady_clock::now() >= until) return false;
  return true;
}

void LocalWorld::wait(std::unique_lock<std::mutex>& lock, int me, const std::string& what,
                      RankTable::Missing missing) {
  if (missing().empty()) return;
  ++watchers_;
  const Time until = patience_.count() > 0 ? patience_ends() : Time{};
  for (bool is_change = patience_.count() > 0; is_change;) {
    const std::uint64_t before = changes_;
    lock.unlock();
    is_change = look_out(until, [&] { return changes_ != before; }) &&
                std::chrono::steady_clock::now() < until;
    lock = this->lock();
    if (missing().empty()) {
      --watchers_;
      return;
    }
  }
  ranks_.starts_waiting(me, what, std::move(missing));
  settle();
  wake_[me].wait(lock, [&] { return ranks_.verdict(me) != RankTable::Verdict::kNone; });
  --watchers_;
  ranks_.goes_on(me);
  if (ranks_.verdict(me) == RankTable::Verdict::kPeerLost) throw PeerLostError(ranks_.reason(me));
  if (ranks_.verdict(me) == RankTable::Verdict::kHang) throw HangError(ranks_.reason(me));
}

void LocalWorld::settle() {
  if (watchers_ == 0) return;
  ++changes_;
  ranks_.settle([this](int rank) { wake_[rank].notify_one(); });
}

// A collective that this rank has joined.
class LocalWork final : public Work {
 public:
  LocalWork(LocalWorld& world, std::shared_ptr<LocalWorld::Collective> collective,
            const std::vector<int>& members, int me, int group_rank, std::string what)
      : world_(world),
        collective_(std::move(collective)),
        members_(members),
        me_(me),
        member_(static_cast<std::size_t>(group_rank)),
        what_(std::move(what)) {}
  ~LocalWork() override {
    if (taken_) return;
    {
      const auto held = world_.lock();
      if (!collective_->all_came) {
        try {
          collective_->exchange->abandon(member_);
        } catch (...) {
          collective_->failure =
              trouble_of(std::current_exception());  // for the peers, should all come
        }
        return;
      }
    }
    if (collective_->is_mismatch || collective_->failure) return;
    try {
      collective_->exchange->take(member_);
    } catch (...) {
      // Nobody asked for the result; what is wrong with a device the rank's next call of it says.
    }
  }

  void wait() override {
    if (waited_) return;
    waited_ = true;
    world_.started_sends_[me_].flush();
    if (!collective_->all_came) {
      auto held = world_.lock();
      world_.wait(held, me_, what_, [this] {
        std::vector<int> missing;
        for (std::size_t i = 0; i < members_.size(); ++i)
          if (!collective_->num_elements[i]) missing.push_back(members_[i]);
        return missing;
      });
    }
    if (collective_->failure) collective_->failure->raise();
    if (collective_->is_mismatch)
      throw SubjectError(kind::kCollectiveMismatch,
                         mismatch_text(what_, members_, collective_->num_elements));
    taken_ = true;
    collective_->exchange->take(member_);
  }

 private:
  LocalWorld& world_;
  std::shared_ptr<LocalWorld::Collective> collective_;
  const std::vector<int>& members_;
  int me_;
  std::size_t member_;
  std::string what_;
  bool waited_ = false;
  bool taken_ = false;
};

class LocalCommunicator final : public MemberCommunicator {
 public:
  LocalCommunicator(LocalWorld& world, int group_id, std::vector<int> members, int me,
                    Backend& backend)
      : MemberCommunicator(std::move(members), me, backend, world.started_sends_.at(me)),
        world_(world),
        group_id_(group_id),
        group_(world.group_of(group_id)) {}

 private:
  std::unique_ptr<Work> join(const CollectiveCall& call, const std::string& what) override {
    const auto mine = static_cast<std::size_t>(rank());
    std::shared_ptr<LocalWorld::Collective> collective;
    bool launches = false;
    {
      const auto held = world_.lock();
      collective = come(mine, call);
      launches = collective->all_came;
      if (launches) world_.settle();
    }
    // A device does its part beside this rank's next work only if it is put there before that.
    if (!launches && attendance(*collective) != 0) launches = look_out_for_all(*collective);
    if (launches && collective->failure) collective->failure->raise();
    if (launches && !collective->is_mismatch) collective->exchange->launch(mine);
    return std::make_unique<LocalWork>(world_, std::move(collective), members(), me(), rank(),
                                       what);
  }
  // Without the world's mutex: who holds it may wait for a device that waits for this rank's part.
  bool look_out_for_all(LocalWorld::Collective& collective) {
    const auto all_came = [&] { return collective.all_came.load(); };
    if (world_.look_out(world_.patience_ends(), all_came)) return true;
    std::uint64_t attends = collective.attends;
    while ((attends & LocalWorld::kClosed) == 0)
      if (collective.attends.compare_exchange_weak(attends, attends & ~attendance(collective)))
        return false;
    while (!all_came()) std::this_thread::yield();
    return true;
  }
  // This rank's bit of Collective::attends, or none: then it neither looks out nor launches.
  std::uint64_t attendance(const LocalWorld::Collective& collective) const {
    const bool attends = world_.patience_.count() > 0 && rank() < Exchange::kMostAttending &&
                         collective.exchange->is_launched_by_members();
    return attends ? std::uint64_t{1} << rank() : 0;
  }
  // Under the world's mutex.
  std::shared_ptr<LocalWorld::Collective> come(std::size_t mine, const CollectiveCall& call) {
    const std::uint64_t place = next_call_++ - group_.first_call;
    if (place == group_.collectives.size()) {
      auto fresh = std::make_shared<LocalWorld::Collective>();
      fresh->exchange = backend().make_exchange(members().size());
      fresh->num_elements.resize(members().size());
      fresh->first_num_elements = call.num_elements;
      group_.collectives.push_back(std::move(fresh));
    }
    std::shared_ptr<LocalWorld::Collective> collective = group_.collectives.at(place);
    collective->exchange->give(mine, backend(), call);
    collective->num_elements[mine] = call.num_elements;
    collective->is_mismatch |= call.num_elements != collective->first_num_elements;
    collective->attends |= attendance(*collective);
    if (++collective->arrived < members().size()) return collective;
    const std::uint64_t attends = collective->attends.exchange(LocalWorld::kClosed);
    if (!collective->is_mismatch && !collective->failure) try {
        collective->exchange->complete(attends);
      } catch (...) {
        collective->failure = trouble_of(std::current_exception());
      }
    collective->all_came = true;
    // The oldest: every member comes to the calls in their order.
    group_.collectives.erase(group_.collectives.begin());
    ++group_.first_call;
    return collective;
  }

  void leave(int to, std::shared_ptr<Parcel> parcel, std::int64_t num_elements) override {
    const auto held = world_.lock();
    world_.channels_[{group_id_, {me(), to}}].push_back(
        {.parcel = std::move(parcel), .num_elements = num_elements});
    world_.settle();
  }
  std::int64_t fetch(Elements buffer, int from, const std::string& what) override {
    const LocalWorld::Message message = next_message(from, what);
    if (!message.parcel) return kNone;
    if (message.num_elements == buffer.num_elements)
      backend().unpack(*message.parcel, buffer.data, buffer.num_elements);
    return message.num_elements;
  }
  LocalWorld::Message next_message(int peer, const std::string& what) {
    auto held = world_.lock();
    auto& channel = world_.channels_[{group_id_, {peer, me()}}];
    world_.wait(held, me(), what,
                [&] { return channel.empty() ? std::vector<int>{peer} : std::vector<int>{}; });
    LocalWorld::Message message = std::move(channel.front());
    channel.pop_front();
    return message;
  }

  LocalWorld& world_;
  int group_id_;
  LocalWorld::Group& group_;
  std::uint64_t next_call_ = 0;
};

std::unique_ptr<Communicator> LocalWorld::group(int group_id, std::vector<int> members, int me,
                                                Backend& backend) {
  return std::make_unique<LocalCommunicator>(*this, group_id, std::move(members), me, backend);
}

}  // namespace culprit
