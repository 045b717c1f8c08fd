#include "multiprocess/coordinator.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/exit_status.hpp"
#include "base/version.hpp"
#include "comm/rank_table.hpp"
#include "multiprocess/awake_time.hpp"
#include "multiprocess/messages.hpp"

namespace culprit {
namespace {

constexpr int kPollMs = 100;
// For the first message of a connection.
constexpr std::chrono::seconds kHelloDeadline{10};
constexpr std::chrono::seconds kEndDeadline{6};

}  // namespace

class Coordinator::Loop {
  using Time = AwakeTime::Duration;  // since the loop was made

 public:
  Loop(Listener listener, CoordinatorSettings settings)
      : listener_(std::move(listener)),
        settings_(std::move(settings)),
        peers_(static_cast<std::size_t>(settings_.num_processes)) {}

  void run() {
    while (!is_over()) {
      poll_once();
      const Time now = awake_.passed();
      if (num_here_ < peers_.size() && !ended_) require_meeting(now);
      if (!ended_) require_life(now);
      if (now < next_beat_) continue;
      next_beat_ = now + kBeat;
      const std::string beat = message_of(FromCoordinator::kBeat).take();
      for (std::size_t rank = 0; rank < peers_.size(); ++rank) tell(static_cast<int>(rank), beat);
    }
  }

 private:
  struct Stranger {
    std::unique_ptr<Channel> channel;  // null: no stranger any more
    Time since{};
  };
  struct Peer {
    std::unique_ptr<Channel> channel;  // null: has not come
    bool left = false;                 // said goodbye, or its connection is closed
    Time heard{};
    std::uint64_t operations = 0;
    std::string bytes;                  // for the gather under way
    std::optional<ToCoordinator> gave;  // to which of kGather, kBroadcast, kClose
    std::vector<std::int64_t> sent;     // for the close under way
  };
  struct Collective {
    std::vector<int> members;
    std::vector<std::optional<std::int64_t>> num_elements;  // by group rank; none: has not come
    std::vector<int> kinds;
    std::string token;
    std::size_t arrived = 0;
    bool is_mismatch = false;
  };
  using CollectiveKey = std::pair<int, std::uint64_t>;  // group, call
  struct Message {
    bool is_none = false;
    std::int64_t num_elements = 0;
    std::string token;
  };
  using ChannelKey = std::pair<int, std::pair<int, int>>;  // group, (from, to)
  // What a waiting rank asked for.
  struct Wait {
    bool for_message = false;
    CollectiveKey collective;
    ChannelKey channel;
    std::int64_t num_elements = 0;
    std::string what;
  };
  struct OpenWorld {
    explicit OpenWorld(int size) : ranks(size), waits(static_cast<std::size_t>(size)) {}
    RankTable ranks;
    std::map<CollectiveKey, Collective> collectives;
    std::map<ChannelKey, std::deque<Message>> channels;
    std::vector<Wait> waits;  // by rank
  };

  bool is_over() {
    // Processes end soon after their job; one that can't is not waited for.
    if (ended_ && (num_here_ < peers_.size() || awake_.passed() - ended_at_ > kEndDeadline))
      return true;
    return num_here_ == peers_.size() &&
           std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.left; });
  }

  void poll_once() {
    std::vector<pollfd> entries{
        {.fd = listener_ ? listener_->fd() : -1, .events = POLLIN, .revents = 0}};
    std::vector<int> owners{-1};
    for (std::size_t i = 0; i < strangers_.size(); ++i)
      entries.push_back({.fd = strangers_[i].channel->fd(), .events = POLLIN, .revents = 0});
    const std::size_t first_peer = entries.size();
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      if (!peers_[rank].channel || peers_[rank].left) continue;
      entries.push_back({.fd = peers_[rank].channel->fd(), .events = POLLIN, .revents = 0});
      owners.push_back(static_cast<int>(rank));
    }
    if (poll(entries.data(), entries.size(), kPollMs) < 0) return;
    const std::size_t num_strangers = strangers_.size();
    for (std::size_t i = 0; i < num_strangers; ++i) {
      if (entries[1 + i].revents) greet(strangers_[i].channel);
      if (awake_.passed() - strangers_[i].since > kHelloDeadline) strangers_[i].channel = nullptr;
    }
    std::erase_if(strangers_, [](const Stranger& stranger) { return !stranger.channel; });
    if (entries[0].revents && listener_)
      if (UniqueFd fd = listener_->accept())
        strangers_.push_back(
            {.channel = std::make_unique<Channel>(std::move(fd)), .since = awake_.passed()});
    for (std::size_t i = first_peer; i < entries.size(); ++i)
      if (entries[i].revents) listen_to(owners[1 + i - first_peer]);
  }

  // A connection whose first message is the hello of a process that is waited for becomes its.
  void greet(std::unique_ptr<Channel>& stranger) {
    std::string text;
    switch (stranger->receive(text, kLongestHello)) {
      case Channel::State::kNothingYet:
        return;
      case Channel::State::kClosed:
        stranger = nullptr;
        return;
      case Channel::State::kMessage:
        break;
    }
    try {
      ByteReader reader(text);
      const auto kind = reader.get<ToCoordinator>();
      if (kind != ToCoordinator::kHello || reader.get_text() != settings_.key) {
        stranger = nullptr;  // nobody of this job
        return;
      }
      const std::string version = reader.get_text();
      if (version != kVersionText)
        return refuse(stranger,
                      fmt::format("a process of {}, rank 0 is of {}", version, kVersionText));
      const int rank = reader.get<int>(), size = reader.get<int>();
      if (size != settings_.num_processes || rank < 0 || rank >= size)
        return refuse(stranger, fmt::format("rank {} of {} processes, rank 0 is one of {}", rank,
                                            size, settings_.num_processes));
      if (peers_[rank].channel)
        return refuse(stranger, fmt::format("a second rank {} of {} processes", rank, size));
      Peer& peer = peers_[rank];
      peer.channel = std::move(stranger);
      peer.heard = awake_.passed();
      tell(rank, message_of(FromCoordinator::kBeat).take());
      if (++num_here_ < peers_.size()) return;
      listener_.reset();  // who comes now looks for another job
    } catch (const SetupError&) {
      stranger = nullptr;  // no message of ours
    }
  }

  // A process that knows the key, but can't be of this job: told, and told of if the job fails.
  void refuse(std::unique_ptr<Channel>& stranger, const std::string& who) {
    refused_ = who;
    ByteWriter writer = message_of(FromCoordinator::kEnded);
    writer.put(kExitSetup);
    writer.put_text(fmt::format("rank 0 does not let this process in: {}", who));
    stranger->send(writer.take());
    stranger = nullptr;
  }

  void listen_to(int rank) {
    Peer& peer = peers_[rank];
    std::string text;
    while (!peer.left) {
      switch (peer.channel->receive(text)) {
        case Channel::State::kNothingYet:
          return;
        case Channel::State::kClosed:
          peer.left = true;
          end_job(row_of(OutcomeClass::kCrash).exit_status,
                  fmt::format("rank {}'s process has ended without a word (killed, or crashed){}",
                              rank, who_waits()));
          return;
        case Channel::State::kMessage:
          peer.heard = awake_.passed();
          try {
            ByteReader reader(text);
            handle(rank, reader);
          } catch (const std::exception& error) {
            end_job(kExitSetup, fmt::format("rank {}'s process: {}", rank, error.what()));
          }
      }
    }
  }

  void handle(int rank, ByteReader& reader) {
    const auto kind = reader.get<ToCoordinator>();
    Peer& peer = peers_[rank];
    if (kind == ToCoordinator::kBye) {
      peer.left = true;
      moved_ = awake_.passed();
      return require_all(world_ || std::any_of(peers_.begin(), peers_.end(), [](const Peer& each) {
                           return each.gave.has_value();
                         }));
    }
    if (ended_) return;  // what was under way when the job ended
    if (kind == ToCoordinator::kBeat) {
      const auto operations = reader.get<std::uint64_t>();
      if (operations != peer.operations) moved_ = awake_.passed();
      peer.operations = operations;
      return;
    }
    moved_ = awake_.passed();
    require_all(true);
    switch (kind) {
      case ToCoordinator::kBroken: {
        const Trouble trouble = reader.get_trouble();
        return end_job(trouble.exit_status, fmt::format("rank {}: {}", rank, trouble.words));
      }
      case ToCoordinator::kOpen:
        return open(reader.get<int>());
      case ToCoordinator::kGather:
        peer.bytes = reader.get_text();
        if (all_gave(rank, kind)) gather();
        return;
      case ToCoordinator::kBroadcast:
        if (rank == 0) peer.bytes = reader.get_text();
        if (all_gave(rank, kind)) broadcast();
        return;
      case ToCoordinator::kClose:
        peer.sent = reader.get_list<std::int64_t>();
        if (all_gave(rank, kind)) close();
        return;
      default:
        if (!world_) throw SetupError("[coordinator] no world is open");
        return handle_rank(kind, rank, reader);
    }
  }

  // A process that left on purpose (an error of its own) is missed by what `needs_all`.
  void require_all(bool needs_all) {
    for (std::size_t rank = 0; needs_all && rank < peers_.size(); ++rank)
      if (peers_[rank].left)
        end_job(kExitSetup, fmt::format("rank {}'s process has left the job; its own message says "
                                        "why",
                                        rank));
  }

  void handle_rank(ToCoordinator kind, int rank, ByteReader& reader) {
    require_rank(rank);
    switch (kind) {
      case ToCoordinator::kJoin:
        join(rank, reader);
        break;
      case ToCoordinator::kPost:
        post(rank, reader);
        break;
      case ToCoordinator::kWaitJoin: {
        const int group = reader.get<int>();
        const auto call = reader.get<std::uint64_t>();
        wait(rank, {.for_message = false,
                    .collective = {group, call},
                    .channel = {},
                    .num_elements = 0,
                    .what = reader.get_text()});
        break;
      }
      case ToCoordinator::kWaitPost: {
        const int group = reader.get<int>(), from = reader.get<int>();
        require_rank(from);
        const auto num_elements = reader.get<std::int64_t>();
        wait(rank, {.for_message = true,
                    .collective = {},
                    .channel = {group, {from, rank}},
                    .num_elements = num_elements,
                    .what = reader.get_text()});
        break;
      }
      case ToCoordinator::kFinished:
        world_->ranks.finished(rank);
        break;
      case ToCoordinator::kFailed:
        world_->ranks.failed(rank);
        break;
      default:
        throw SetupError("[coordinator] a message of no known kind");
    }
    world_->ranks.settle([this](int decided) { answer(decided); });
  }

  void require_rank(int rank) const {
    if (rank < 0 || rank >= world_->ranks.size())
      throw SetupError(
          fmt::format("[coordinator] rank {} in a world of {}", rank, world_->ranks.size()));
  }

  void open(int size) {
    if (size < 1 || size > settings_.num_processes)
      throw SetupError(fmt::format("[coordinator] opens a world of {} ranks with {} processes",
                                   size, settings_.num_processes));
    if (!world_) world_.emplace(size);
    if (world_->ranks.size() != size)
      throw SetupError(fmt::format("[coordinator] opens a world of {} ranks, another of {}", size,
                                   world_->ranks.size()));
  }

  void join(int rank, ByteReader& reader) {
    const int group = reader.get<int>();
    const auto call = reader.get<std::uint64_t>();
    const int group_rank = reader.get<int>();
    Collective& collective = world_->collectives[{group, call}];
    std::vector<int> members = reader.get_list<int>();
    for (const int member : members) require_rank(member);
    if (!collective.members.empty() && collective.members != members)
      throw SetupError("[coordinator] a group with other members");
    collective.members = std::move(members);
    const int kind = reader.get<int>();
    const auto num_elements = reader.get<std::int64_t>();
    std::string token = reader.get_text();
    if (!token.empty()) collective.token = std::move(token);
    const std::size_t size = collective.members.size();
    if (group_rank < 0 || static_cast<std::size_t>(group_rank) >= size ||
        collective.members[group_rank] != rank)
      throw SetupError("[coordinator] a member that is none");
    collective.num_elements.resize(size);
    collective.kinds.resize(size);
    collective.num_elements[group_rank] = num_elements;
    collective.kinds[group_rank] = kind;
    if (++collective.arrived < size) return;
    const auto& counts = collective.num_elements;
    collective.is_mismatch = std::any_of(counts.begin(), counts.end(),
                                         [&](const auto& count) { return *count != *counts[0]; });
    if (collective.is_mismatch) return;
    const auto& kinds = collective.kinds;
    ByteWriter writer = message_of(FromCoordinator::kComplete);
    writer.put(group);
    writer.put(call);
    writer.put(std::any_of(kinds.begin(), kinds.end(), [&](int each) { return each != kinds[0]; }));
    writer.put_text(collective.token);
    const std::string text = writer.take();
    for (const int member : collective.members) tell(member, text);
  }

  void post(int rank, ByteReader& reader) {
    const int group = reader.get<int>(), to = reader.get<int>();
    require_rank(to);
    Message posted;
    posted.is_none = reader.get<bool>();
    posted.num_elements = reader.get<std::int64_t>();
    posted.token = reader.get_text();
    world_->channels[{group, {rank, to}}].push_back(std::move(posted));
  }

  void wait(int rank, Wait wait) {
    world_->waits[rank] = std::move(wait);
    world_->ranks.starts_waiting(rank, world_->waits[rank].what,
                                 [this, rank] { return missing(world_->waits[rank]); });
  }

  std::vector<int> missing(const Wait& wait) {
    if (wait.for_message)
      return world_->channels[wait.channel].empty() ? std::vector<int>{wait.channel.second.first}
                                                    : std::vector<int>{};
    const Collective& collective = world_->collectives.at(wait.collective);
    std::vector<int> list;
    for (std::size_t i = 0; i < collective.members.size(); ++i)
      if (!collective.num_elements[i]) list.push_back(collective.members[i]);
    return list;
  }

  void answer(int rank) {
    const RankTable& ranks = world_->ranks;
    const Wait& wait = world_->waits[rank];
    const bool is_ready = ranks.verdict(rank) == RankTable::Verdict::kReady;
    ByteWriter writer = message_of(FromCoordinator::kVerdict);
    writer.put(ranks.verdict(rank));
    writer.put_text(ranks.reason(rank));
    if (is_ready && !wait.for_message) {
      const Collective& collective = world_->collectives.at(wait.collective);
      writer.put_text(collective.is_mismatch
                          ? mismatch_text(wait.what, collective.members, collective.num_elements)
                          : "");
    }
    if (is_ready && wait.for_message) {
      auto& channel = world_->channels[wait.channel];
      const Message got = std::move(channel.front());
      channel.pop_front();
      const auto [from, to] = wait.channel.second;
      if (!got.is_none && got.num_elements == wait.num_elements) {
        ByteWriter transfer = message_of(FromCoordinator::kTransfer);
        transfer.put(wait.channel.first);
        transfer.put(from);
        transfer.put(to);
        transfer.put_text(got.token);
        const std::string text = transfer.take();
        tell(from, text);
        if (to != from) tell(to, text);
      } else if (!got.is_none) {
        ByteWriter dropped = message_of(FromCoordinator::kDropped);
        dropped.put(wait.channel.first);
        dropped.put(to);
        tell(from, dropped.take());
      }
      writer.put(got.is_none);
      writer.put(got.num_elements);
    }
    tell(rank, writer.take());
    world_->ranks.goes_on(rank);
  }

  // Whether `rank` was the last to call that. Errors: SetupError when others call something else.
  bool all_gave(int rank, ToCoordinator kind) {
    peers_[rank].gave = kind;
    for (std::size_t other = 0; other < peers_.size(); ++other)
      if (peers_[other].gave && peers_[other].gave != kind)
        throw SetupError(fmt::format(
            "[coordinator] is at another step than rank {}'s; were all started alike?", other));
    if (!std::all_of(peers_.begin(), peers_.end(),
                     [](const Peer& peer) { return peer.gave.has_value(); }))
      return false;
    for (Peer& peer : peers_) peer.gave.reset();
    return true;
  }
  void gather() {
    ByteWriter writer = message_of(FromCoordinator::kGathered);
    for (Peer& peer : peers_) writer.put_text(std::exchange(peer.bytes, {}));
    for (std::size_t rank = 1; rank < peers_.size(); ++rank)
      tell(static_cast<int>(rank), message_of(FromCoordinator::kGathered).take());
    tell(0, writer.take());  // last: what it does next may hold up this thread too
  }
  void broadcast() {
    ByteWriter writer = message_of(FromCoordinator::kBroadcast);
    writer.put_text(std::exchange(peers_[0].bytes, {}));
    const std::string text = writer.take();
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) tell(static_cast<int>(rank), text);
  }
  void close() {
    world_.reset();
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      std::vector<std::int64_t> sent_to;
      for (const Peer& peer : peers_) sent_to.push_back(peer.sent.at(rank));
      ByteWriter writer = message_of(FromCoordinator::kClosed);
      writer.put_list(sent_to);
      tell(static_cast<int>(rank), writer.take());
    }
  }

  void tell(int rank, const std::string& text) {
    Peer& peer = peers_[rank];
    if (peer.channel && !peer.left) peer.channel->send(text);  // gone: seen at the next read
  }

  std::string who_waits() const {
    if (!world_) return "";
    const std::string waits = world_->ranks.waits();
    return waits.empty() ? "" : "; " + waits;
  }

  void end_job(int exit_status, const std::string& text) {
    if (ended_) return;
    ByteWriter writer = message_of(FromCoordinator::kEnded);
    writer.put_trouble({exit_status, text});
    ended_ = writer.take();
    ended_at_ = awake_.passed();
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) tell(static_cast<int>(rank), *ended_);
  }

  void require_meeting(Time now) {
    if (now < settings_.meeting_deadline) return;
    std::string absent;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
      if (!peers_[rank].channel) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", rank);
    end_job(kExitSetup,
            fmt::format("of {} processes rank {} did not come within {:g} s; {}", peers_.size(),
                        absent, std::chrono::duration<double>(settings_.meeting_deadline).count(),
                        refused_.empty() ? "was each started?" : refused_ + " was not let in"));
  }

  void require_life(Time now) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank)
      if (peers_[rank].channel && !peers_[rank].left && now - peers_[rank].heard > kSilence) {
        end_job(row_of(OutcomeClass::kCrash).exit_status,
                fmt::format("rank {}'s process gives no sign of life{}", rank, who_waits()));
        peers_[rank].left = true;  // not waited for
        return;
      }
    if (!world_) return require_to_come(now);
    if (now - moved_ < settings_.stall_deadline) return;
    std::string who = world_->ranks.waits();
    for (const int rank : world_->ranks.running())
      who += fmt::format("{}rank {} waits for nobody", who.empty() ? "" : "; ", rank);
    end_job(row_of(OutcomeClass::kHang).exit_status,
            fmt::format("no rank finished an operation for {:g} s: {}",
                        std::chrono::duration<double>(settings_.stall_deadline).count(), who));
  }

  // Outside a world only rank 0 has anything to do that takes long: it judges.
  void require_to_come(Time now) {
    const bool is_awaited = num_here_ == peers_.size() &&
                            std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
                              return peer.left || peer.gave.has_value();
                            });
    if (!is_awaited || now - moved_ < settings_.meeting_deadline) return;
    for (std::size_t rank = 1; rank < peers_.size(); ++rank)
      if (!peers_[rank].left && !peers_[rank].gave)
        return end_job(
            kExitSetup,
            fmt::format(
                "rank {}'s process lives, but did not come to where the others wait within {:g} s",
                rank, std::chrono::duration<double>(settings_.meeting_deadline).count()));
  }

  std::optional<Listener> listener_;  // until all have come
  CoordinatorSettings settings_;
  std::vector<Peer> peers_;          // by rank
  std::vector<Stranger> strangers_;  // nobody knows who they are yet
  std::string refused_;              // the last that was not let in
  std::size_t num_here_ = 0;
  AwakeTime awake_;  // a pause of this process's own is nobody's silence or stall
  Time moved_{};     // last seen doing something
  Time next_beat_{};
  std::optional<OpenWorld> world_;
  std::optional<std::string> ended_;  // what everybody was told
  Time ended_at_{};
};

Coordinator::Coordinator(Listener listener, CoordinatorSettings settings)
    : loop_(std::make_unique<Loop>(std::move(listener), std::move(settings))),
      thread_([this] { loop_->run(); }) {}
Coordinator::~Coordinator() { thread_.join(); }

}  // namespace culprit
