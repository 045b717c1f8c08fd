#include "multiprocess/job_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/exit_status.hpp"
#include "base/version.hpp"

namespace culprit {
namespace {

using Clock = std::chrono::steady_clock;
// For rank 0 to answer a hello.
constexpr std::chrono::milliseconds kAnswerDeadline{10000};

}  // namespace

JobLink::JobLink(const JobSettings& settings, std::optional<Listener> listener)
    : settings_(settings) {
  if (listener) {
    settings_.address = listener->own_address();
    settings_.port = listener->port();
    coordinator_ = std::make_unique<Coordinator>(
        std::move(*listener), CoordinatorSettings{.num_processes = settings.size,
                                                  .key = settings.key,
                                                  .meeting_deadline = settings.meeting_deadline,
                                                  .stall_deadline = settings.stall_deadline});
  }
  come_in();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  try {
    gather({});  // all have come
  } catch (const JobEndedError& error) {
    throw SetupError(error.what());
  }
}

void JobLink::come_in() {
  const auto end = Clock::now() + settings_.meeting_deadline;
  const std::string place = fmt::format("{}:{}", settings_.address, settings_.port);
  for (auto left = settings_.meeting_deadline;;
       left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now())) {
    channel_ = std::make_unique<Channel>(connect_to(settings_.address, settings_.port, left));
    ByteWriter hello = message_of(ToCoordinator::kHello);
    hello.put_text(settings_.key);
    hello.put_text(kVersionText);
    hello.put(settings_.rank);
    hello.put(settings_.size);
    send(std::move(hello));
    std::string text;
    auto state = Channel::State::kNothingYet;
    const auto answer_by = std::min(end, Clock::now() + kAnswerDeadline);
    while (state == Channel::State::kNothingYet && Clock::now() < answer_by) {
      channel_->wait(kBeat);
      state = channel_->receive(text, kLongestHello);
    }
    if (state == Channel::State::kNothingYet)
      throw SetupError(fmt::format(
          "what listens at {} does not answer as rank 0 of this job does; another program? choose "
          "another MASTER_PORT",
          place));
    if (state == Channel::State::kMessage) {
      ByteReader reader(text);
      const auto kind = reader.get<FromCoordinator>();
      if (kind == FromCoordinator::kBeat) return;
      if (kind != FromCoordinator::kEnded)
        throw SetupError(fmt::format("what listens at {} is not rank 0 of this job", place));
      throw SetupError(reader.get_trouble().words);
    }
    // Closed: rank 0 of a job that was here before, or somebody else.
    if (Clock::now() >= end)
      throw SetupError(fmt::format(
          "what listens at {} closes each connection; another program, or rank 0 of another job? "
          "choose another MASTER_PORT",
          place));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

JobLink::~JobLink() {
  send(message_of(ToCoordinator::kBye));
  thread_ = {};
  watchdog_.reset();       // this process is on its way out
  coordinator_ = nullptr;  // waits until the others have left too
}

std::vector<std::string> JobLink::gather(std::string mine) {
  ByteWriter writer = message_of(ToCoordinator::kGather);
  writer.put_text(mine);
  send(std::move(writer));
  const std::string fields = answer(FromCoordinator::kGathered);
  ByteReader reader(fields);
  std::vector<std::string> all;
  while (!reader.at_end()) all.push_back(reader.get_text());
  return all;
}

std::string JobLink::broadcast(std::string from_rank_0) {
  ByteWriter writer = message_of(ToCoordinator::kBroadcast);
  if (rank() == 0) writer.put_text(from_rank_0);
  send(std::move(writer));
  const std::string fields = answer(FromCoordinator::kBroadcast);
  return ByteReader(fields).get_text();
}

std::string JobLink::answer(FromCoordinator kind) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return answer_ || ended_; });
  if (!answer_) throw JobEndedError(*ended_);
  const auto [got, fields] = std::move(*answer_);
  answer_.reset();
  if (got != kind) throw SetupError("[job] the coordinator answered something else");
  return fields;
}

void JobLink::set_listener(JobListener* listener) {
  const std::lock_guard lock(mutex_);
  listener_ = listener;
  if (listener && ended_) listener->ended();
}

void JobLink::require_going_on() {
  const std::lock_guard lock(mutex_);
  if (ended_) throw JobEndedError(*ended_);
}

bool JobLink::has_ended() {
  const std::lock_guard lock(mutex_);
  return ended_.has_value();
}

void JobLink::run(const std::stop_token& stop) {
  std::string text;
  AwakeTime awake;
  AwakeTime::Duration next_beat{}, heard{};
  while (!stop.stop_requested()) {
    const auto now = awake.passed();
    if (now >= next_beat) {
      ByteWriter beat = message_of(ToCoordinator::kBeat);
      beat.put(operations_.load(std::memory_order_relaxed));
      send(std::move(beat));
      next_beat = now + kBeat;
    }
    switch (channel_->receive(text)) {
      case Channel::State::kMessage:
        heard = now;
        try {
          receive(text);
        } catch (const std::exception& error) {
          end({kExitSetup, fmt::format("[job] the coordinator's words: {}", error.what())});
        }
        break;
      case Channel::State::kNothingYet:
        if (now - heard > kSilence)
          end({row_of(OutcomeClass::kCrash).exit_status, "rank 0's process gives no sign of life"});
        channel_->wait(kBeat / 5);
        break;
      case Channel::State::kClosed:
        end({row_of(OutcomeClass::kCrash).exit_status,
             "rank 0's process has ended without a word (killed, or crashed)"});
        return;
    }
  }
}

void JobLink::receive(const std::string& text) {
  ByteReader reader(text);
  const auto kind = reader.get<FromCoordinator>();
  if (kind == FromCoordinator::kBeat) return;
  if (kind == FromCoordinator::kEnded) return end(reader.get_trouble());
  const std::string fields = text.substr(sizeof(kind));
  const std::lock_guard lock(mutex_);
  if (ended_) return;  // of what was under way then nobody waits for anything any more
  if (kind == FromCoordinator::kComplete || kind == FromCoordinator::kTransfer ||
      kind == FromCoordinator::kDropped) {
    if (listener_) listener_->told(kind, fields);
    return;
  }
  answer_.emplace(kind, fields);
  changed_.notify_all();
}

void JobLink::end(Trouble why) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  ended_.emplace(why.exit_status, why.words);
  // First: whatever the listener does may wait too.
  watchdog_.emplace(kGrace, [why = std::move(why)] { return why; });
  changed_.notify_all();
  if (listener_) listener_->ended();
}

}  // namespace culprit
