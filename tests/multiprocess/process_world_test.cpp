// What becomes of a job in which one process can't do its part in a collective: an error of the
// harness in all of them, within seconds, and never an outcome.
#include "multiprocess/process_world.hpp"

#include <atomic>
#include <thread>

#include "base/exit_status.hpp"
#include "job_processes.hpp"
#include "multiprocess/process_runtime.hpp"
#include "support/idle_backend.hpp"

namespace culprit::test {
namespace {

enum class Fails { kNothing, kLaunch, kTake, kAbandon };

std::atomic<bool> launches{false};  // a part in this process

// Moves nothing, and fails in one way.
class FailingPart final : public PathPart {
 public:
  explicit FailingPart(Fails fails) : fails_(fails) {}
  void launch(const std::string&, bool) override {
    launches = true;
    if (fails_ == Fails::kLaunch) throw UnavailableError("no room for a launch");
    if (fails_ == Fails::kAbandon) ADD_FAILURE() << "launched although its memory is gone";
  }
  void take() override {
    if (fails_ == Fails::kTake) throw SetupError("the device is lost");
  }
  void abandon() override {
    if (fails_ != Fails::kNothing) throw SetupError("no room for what is abandoned");
  }

 private:
  Fails fails_;
};

class FailingPath : public DataPath {
 public:
  explicit FailingPath(Fails fails) : fails_(fails) {}
  std::string token(const std::vector<int>&) override { return {}; }
  int largest_tag() const override { return Tags::kLeast; }
  std::shared_ptr<PathPart> start(Backend&, const std::vector<int>&, std::size_t, int,
                                  const CollectiveCall&) override {
    return std::make_shared<FailingPart>(fails_);
  }
  std::shared_ptr<PathPart> send(Backend&, int, int, int, std::shared_ptr<Parcel>,
                                 std::int64_t) override {
    return std::make_shared<FailingPart>(fails_);
  }
  std::shared_ptr<PathPart> receive(Backend&, int, int, int, std::byte*, std::int64_t) override {
    return std::make_shared<FailingPart>(fails_);
  }
  void drop(Backend&, int, int, std::int64_t) override {}
  void abort() noexcept override {}
  std::vector<std::int64_t> sent(int num_processes) override {
    return std::vector<std::int64_t>(static_cast<std::size_t>(num_processes));
  }
  void close(const std::vector<std::int64_t>&) override {}

 private:
  Fails fails_;
};

class NoExchangeBackend final : public IdleBackend {
 public:
  std::unique_ptr<Exchange> make_exchange(std::size_t) override { return nullptr; }
  std::unique_ptr<Parcel> pack(const std::byte*, std::int64_t) override {
    return std::make_unique<Parcel>();
  }
};

// Says of which sends, by their numbers of elements, the part was launched.
class ListingPath final : public FailingPath {
 public:
  ListingPath() : FailingPath(Fails::kNothing) {}
  std::shared_ptr<PathPart> send(Backend&, int, int, int, std::shared_ptr<Parcel>,
                                 std::int64_t num_elements) override {
    return std::make_shared<Part>(launched, num_elements);
  }
  std::vector<std::int64_t> launched;  // by the world's thread, until its end

 private:
  class Part final : public PathPart {
   public:
    Part(std::vector<std::int64_t>& launched, std::int64_t num_elements)
        : launched_(launched), num_elements_(num_elements) {}
    void launch(const std::string&, bool) override { launched_.push_back(num_elements_); }
    void take() override {}
    void abandon() override {}

   private:
    std::vector<std::int64_t>& launched_;
    std::int64_t num_elements_;
  };
};

struct End {
  int status;
  std::string words;
};

// Two processes of which the second fails so; `second` is what it does, the first all-reduces and
// then waits for its device, as one does whose peer's part never comes.
std::array<End, 2> ends(Fails fails, const std::function<void(Communicator&)>& second) {
  const int port = free_port();
  const Processes processes(2, [&](int rank) {
    const auto link = meet(rank, 2, port, std::chrono::seconds(20), std::chrono::seconds(20));
    FailingPath path(rank == 1 ? fails : Fails::kNothing);
    ProcessWorld world(*link, path, 2);
    NoExchangeBackend backend;
    const auto comm = world.group(0, {0, 1}, rank, backend);
    if (rank == 1) {
      second(*comm);
    } else {
      if (fails == Fails::kAbandon) comm->receive({nullptr, 1}, 1, "that it was dropped");
      comm->all_reduce({nullptr, 1}, "sum");
      while (fails != Fails::kTake && !link->has_ended())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    world.finished(rank);
    link->gather({});
    return 0;
  });
  std::array<End, 2> result;
  for (int rank = 0; rank < 2; ++rank)
    result[rank] = {processes.end_of(rank), processes.words_of(rank)};
  return result;
}

void reduce(Communicator& comm) { comm.all_reduce({nullptr, 1}, "sum"); }

TEST(ProcessWorldTest, APartThatCannotBeLaunchedEndsTheJobWithItsWords) {
  for (const End& end : ends(Fails::kLaunch, reduce)) {
    EXPECT_EQ(end.status, kExitUnavailable);
    EXPECT_EQ(end.words, "rank 1: no room for a launch");
  }
}

TEST(ProcessWorldTest, ALaunchThatNobodyWaitsForIsToldAllTheSame) {
  const auto all = ends(Fails::kLaunch, [](Communicator& comm) {
    const auto work = comm.start_all_reduce({nullptr, 1}, "sum");
    while (!launches) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  for (const End& end : all) {
    EXPECT_EQ(end.status, kExitUnavailable);
    EXPECT_EQ(end.words, "rank 1: no room for a launch");
  }
}

TEST(ProcessWorldTest, MemoryThatCouldNotBeLeftBehindIsNotReadAndEndsTheJob) {
  const auto all = ends(Fails::kAbandon, [](Communicator& comm) {
    comm.start_all_reduce({nullptr, 1}, "sum");
    comm.send_none(0, "that it was dropped");
  });
  for (const End& end : all) {
    EXPECT_EQ(end.status, kExitSetup);
    EXPECT_EQ(end.words, "rank 1: no room for what is abandoned");
  }
}

TEST(ProcessWorldTest, AResultThatCannotBeTakenIsItsRanksErrorAndEndsNoProcessByASignal) {
  const auto all =
      ends(Fails::kTake, [](Communicator& comm) { EXPECT_THROW(reduce(comm), SetupError); });
  for (const End& end : all) EXPECT_EQ(end.status, 0) << end.words;
}

TEST(ProcessWorldTest, AMessageOfAnotherLengthIsNeverLaunchedAndTheNextIs) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    const auto link = meet(rank, 2, port);
    ListingPath path;
    {
      ProcessWorld world(*link, path, 2);
      NoExchangeBackend backend;
      const auto comm = world.group(0, {0, 1}, rank, backend);
      if (rank == 0) {
        comm->send({nullptr, 2}, 1, "of another length");
        comm->send({nullptr, 3}, 1, "the next one");
      } else {
        EXPECT_THROW(comm->receive({nullptr, 3}, 0, "of another length"), std::logic_error);
        EXPECT_TRUE(comm->receive({nullptr, 3}, 0, "the next one"));
      }
      world.finished(rank);
    }
    EXPECT_EQ(path.launched,
              rank == 0 ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{});
    return 0;
  });
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(processes.end_of(rank), 0) << processes.words_of(rank);
}

// In place of a coordinator: one process, which it tells what a test wants.
TEST(ProcessWorldTest, WhatIsToldAfterTheEndOfTheJobConcernsNobody) {
  const int port = free_port();
  const Processes processes(1, [port](int) {
    const auto link = meet(1, 2, port);
    FailingPath path(Fails::kNothing);
    ProcessWorld world(*link, path, 2);
    NoExchangeBackend backend;
    const auto comm = world.group(0, {0, 1}, 1, backend);
    EXPECT_THROW(comm->receive({nullptr, 1}, 0, "what never comes"), JobEndedError);
    world.finished(1);
    std::this_thread::sleep_for(std::chrono::seconds(60));  // the end of its job ends it before
    return 2;
  });
  const Listener listener("127.0.0.1", port);
  UniqueFd fd;
  while (!fd) fd = listener.accept();
  Channel channel(std::move(fd));
  channel.send(message_of(FromCoordinator::kBeat).take());
  std::string text;
  for (auto state = channel.receive(text); state != Channel::State::kClosed;
       state = channel.receive(text)) {
    if (state == Channel::State::kNothingYet) {
      channel.wait(std::chrono::milliseconds(100));
      continue;
    }
    switch (ByteReader(text).get<ToCoordinator>()) {
      case ToCoordinator::kGather:
        channel.send(message_of(FromCoordinator::kGathered).take());
        break;
      case ToCoordinator::kWaitPost: {
        ByteWriter ended = message_of(FromCoordinator::kEnded);
        ended.put(16);
        ended.put_text("gone");
        channel.send(ended.take());
        break;
      }
      case ToCoordinator::kFinished: {  // so its receive is over
        ByteWriter transfer = message_of(FromCoordinator::kTransfer);
        for (const int field : {0, 0, 1}) transfer.put(field);
        transfer.put_text("");
        channel.send(transfer.take());
        break;
      }
      default:
        break;
    }
  }
  EXPECT_EQ(processes.end_of(0), 16);
}

class NoDevice final : public Device {
 public:
  std::unique_ptr<Backend> make_backend(int, DType) override { return nullptr; }
  void require_room_for(int) const override {}
  std::string description() const override { return "none"; }
};

TEST(ProcessRuntimeTest, ALibraryThatDoesNotComeToItsEndIsNotWaitedForWithoutAJob) {
  const int port = free_port();
  const Processes processes(2, [port](int rank) {
    auto link = meet(rank, 2, port);
    link->gather({});
    if (rank == 1) ::_exit(0);  // without a word
    FailingPath path(Fails::kNothing);
    const std::shared_ptr<void> stuck(
        nullptr, [](void*) { std::this_thread::sleep_for(std::chrono::seconds(60)); });
    auto runtime = make_process_runtime(stuck, std::move(link), std::make_unique<NoDevice>(), path);
    EXPECT_THROW(runtime->processes()->gather({}), JobEndedError);
    return 2;
  });
  EXPECT_EQ(processes.end_of(1), 0);
  EXPECT_EQ(processes.end_of(0), 16);
}

}  // namespace
}  // namespace culprit::test
