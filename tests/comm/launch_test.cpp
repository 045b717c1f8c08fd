// Who puts a member's part of a collective on its device: the member itself if it attends, else the
// one that came last; always exactly one of them, whenever the members come. And what becomes of all
// where an exchange fails: an error of the harness at each rank that waits for it, never a hang.
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "comm/local_world.hpp"
#include "gtest/gtest.h"
#include "support/idle_backend.hpp"

namespace culprit::test {
namespace {

constexpr int kRanks = 3;
constexpr std::chrono::microseconds kLong = std::chrono::hours(1);  // as if for ever

struct Tally {
  std::atomic<int> by_member{0}, by_last{0}, wrong{0};
};

// Notes who launches, and moves nothing.
class CountingExchange final : public Exchange {
 public:
  CountingExchange(std::size_t num_members, Tally& tally) : num_members_(num_members), tally_(tally) {}
  void give(std::size_t member, Backend&, const CollectiveCall&) override { last_ = member; }
  void complete(std::uint64_t attends) override { attends_ = attends; }
  bool is_launched_by_members() const override { return true; }
  void launch(std::size_t member) override {
    if (member != last_) {
      if (!attends(member)) ++tally_.wrong;  // the last one does it
      ++launched_[member];
      ++tally_.by_member;
      return;
    }
    for (std::size_t m = 0; m < num_members_; ++m)
      if (m == last_ || !attends(m)) {
        ++launched_[m];
        ++tally_.by_last;
      }
  }
  void take(std::size_t member) override {
    while (launched_[member] == 0) std::this_thread::yield();
  }
  void abandon(std::size_t) override {}
  ~CountingExchange() override {
    for (std::size_t m = 0; m < num_members_; ++m) tally_.wrong += launched_[m] != 1;
  }

 private:
  bool attends(std::size_t member) const { return member < Exchange::kMostAttending && (attends_ >> member & 1) != 0; }

  std::size_t num_members_;
  Tally& tally_;
  std::size_t last_ = 0;
  std::uint64_t attends_ = 0;
  std::array<std::atomic<int>, 80> launched_{};
};

class CountingBackend final : public IdleBackend {
 public:
  explicit CountingBackend(Tally& tally) : tally_(tally) {}
  std::unique_ptr<Exchange> make_exchange(std::size_t num_members) override {
    return std::make_unique<CountingExchange>(num_members, tally_);
  }

 private:
  Tally& tally_;
};

// `num_collectives` of `num_ranks`, started or waited for at once, each rank some microseconds late
// by chance.
void run(int num_ranks, int num_collectives, std::chrono::microseconds patience, Tally& tally) {
  LocalWorld world(num_ranks, patience);
  std::vector<int> members;
  for (int rank = 0; rank < num_ranks; ++rank) members.push_back(rank);
  const auto body = [&](int rank) {
    CountingBackend backend(tally);
    const auto comm = world.group(0, members, rank, backend);
    std::minstd_rand random(static_cast<unsigned>(rank + 1));
    for (int i = 0; i < num_collectives; ++i) {
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 60);
      while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
      if (random() % 3 == 0) {
        comm->all_reduce({nullptr, 1}, "sum");
      } else {
        const auto work = comm->start_all_reduce({nullptr, 1}, "sum");
        if (random() % 2 == 0) work->wait();
      }
    }
    world.finished(rank);
  };
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < num_ranks; ++rank) threads.emplace_back(body, rank);
}

TEST(LaunchTest, EveryPartIsLaunchedOnceWheneverItsMembersCome) {
  Tally tally;
  run(kRanks, 2000, std::chrono::microseconds(30), tally);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.by_member + tally.by_last, kRanks * 2000);
}

TEST(LaunchTest, WhoLooksOutLaunchesItsOwnPart) {
  Tally tally;
  run(2, 50, kLong, tally);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.by_member, 50);
  EXPECT_EQ(tally.by_last, 50);
}

TEST(LaunchTest, ThePartOfWhoHasGoneOnIsLaunchedByTheLast) {
  Tally tally;
  LocalWorld world(2, std::chrono::microseconds(30));
  CountingBackend first_backend(tally), last_backend(tally);
  const auto first = world.group(0, {0, 1}, 0, first_backend),
             last = world.group(0, {0, 1}, 1, last_backend);
  // One thread is enough: none of the two waits for the other.
  const auto work = first->start_all_reduce({nullptr, 1}, "sum");
  last->all_reduce({nullptr, 1}, "sum");
  work->wait();
  EXPECT_EQ(tally.by_member, 0);
  EXPECT_EQ(tally.by_last, 2);
}

TEST(LaunchTest, WithoutPatienceTheLastLaunchesAll) {
  Tally tally;
  run(kRanks, 500, std::chrono::microseconds(0), tally);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.by_member, 0);
  EXPECT_EQ(tally.by_last, kRanks * 500);
}

TEST(LaunchTest, MembersBeyondTheBitsDoNotAttend) {
  Tally tally;
  run(66, 30, std::chrono::microseconds(200), tally);
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.by_member + tally.by_last, 66 * 30);
}

enum class Fails { kComplete, kLaunchOfLast, kAbandon };

// Fails in one way, each with words of its own.
class FailingExchange final : public Exchange {
 public:
  FailingExchange(Fails fails, std::atomic<int>& num_completed)
      : fails_(fails), num_completed_(num_completed) {}
  void give(std::size_t member, Backend&, const CollectiveCall&) override { last_ = member; }
  void complete(std::uint64_t attends) override {
    ++num_completed_;
    attends_ = attends;
    if (fails_ == Fails::kComplete) throw UnavailableError("complete");
  }
  bool is_launched_by_members() const override { return true; }
  void launch(std::size_t member) override {
    if (member != last_ || fails_ != Fails::kLaunchOfLast) return;
    is_launched_ = true;
    throw UnavailableError("launch");
  }
  void take(std::size_t member) override {
    if (fails_ != Fails::kLaunchOfLast) return;
    if (member != last_ && (attends_ >> member & 1) != 0) return;  // it launched its own part
    while (!is_launched_) std::this_thread::yield();
    throw UnavailableError("take");
  }
  void abandon(std::size_t) override {
    if (fails_ == Fails::kAbandon) throw UnavailableError("abandon");
  }

 private:
  Fails fails_;
  std::atomic<int>& num_completed_;
  std::size_t last_ = 0;
  std::uint64_t attends_ = 0;
  std::atomic<bool> is_launched_{false};
};

class FailingBackend final : public IdleBackend {
 public:
  FailingBackend(Fails fails, std::atomic<int>& num_completed)
      : fails_(fails), num_completed_(num_completed) {}
  std::unique_ptr<Exchange> make_exchange(std::size_t) override {
    return std::make_unique<FailingExchange>(fails_, num_completed_);
  }

 private:
  Fails fails_;
  std::atomic<int>& num_completed_;
};

class FailingExchangeTest : public ::testing::Test {
 protected:
  using Body = std::function<void(Communicator&)>;
  // What each of two ranks is told.
  std::array<std::string, 2> told(Fails fails, std::chrono::microseconds patience,
                                  const std::array<Body, 2>& bodies) {
    LocalWorld world(2, patience);
    std::array<std::string, 2> words;
    const auto run_rank = [&](int rank) {
      FailingBackend backend(fails, num_completed_);
      const auto comm = world.group(0, {0, 1}, rank, backend);
      try {
        bodies[static_cast<std::size_t>(rank)](*comm);
        world.finished(rank);
      } catch (...) {
        const Trouble trouble = trouble_of(std::current_exception());
        EXPECT_EQ(trouble.exit_status, kExitUnavailable) << trouble.words;
        words[static_cast<std::size_t>(rank)] = trouble.words;
        world.failed(rank);
      }
    };
    std::jthread other(run_rank, 1);
    run_rank(0);
    other.join();
    return words;
  }
  static std::unique_ptr<Work> start(Communicator& comm) {
    return comm.start_all_reduce({nullptr, 1}, "sum");
  }
  static void reduce(Communicator& comm) { comm.all_reduce({nullptr, 1}, "sum"); }
  void go_on() { goes_on_ = true; }
  void await_other() const {
    while (!goes_on_) std::this_thread::yield();
  }

  // The first has gone on when the last comes, and waits then.
  std::array<std::string, 2> told_while_first_is_away(Fails fails) {
    return told(fails, kShort,
                {[this](Communicator& comm) {
                   const auto work = start(comm);
                   go_on();
                   work->wait();
                 },
                 [this](Communicator& comm) {
                   await_other();
                   reduce(comm);
                 }});
  }

  static constexpr std::chrono::microseconds kShort{30};
  std::atomic<bool> goes_on_{false};
  std::atomic<int> num_completed_{0};
};

TEST_F(FailingExchangeTest, WhoIsAwayIsToldThatCompletingFailed) {
  const auto words = told_while_first_is_away(Fails::kComplete);
  EXPECT_EQ(words[0], "complete");
  EXPECT_EQ(words[1], "complete");
}

TEST_F(FailingExchangeTest, WhoLooksOutIsToldThatCompletingFailed) {
  const auto words = told(Fails::kComplete, kLong, {reduce, reduce});
  EXPECT_EQ(words[0], "complete");
  EXPECT_EQ(words[1], "complete");
}

TEST_F(FailingExchangeTest, WhoIsAwayIsToldThatItsPartCouldNotBeLaunched) {
  const auto words = told_while_first_is_away(Fails::kLaunchOfLast);
  EXPECT_EQ(words[0], "take");
  EXPECT_EQ(words[1], "launch");
}

TEST_F(FailingExchangeTest, WorkThatIsDroppedAfterAFailureEndsNoProcess) {
  std::atomic<bool> has_failed{false};
  const auto words = told(Fails::kLaunchOfLast, kShort,
                          {[&](Communicator& comm) {
                             const auto work = start(comm);
                             go_on();
                             while (!has_failed) std::this_thread::yield();
                           },
                           [&](Communicator& comm) {
                             await_other();
                             try {
                               reduce(comm);
                             } catch (const Error&) {
                               has_failed = true;
                               throw;
                             }
                           }});
  EXPECT_EQ(words[0], "");
  EXPECT_EQ(words[1], "launch");
}

TEST_F(FailingExchangeTest, PeersOfAFailedAbandonAreToldAndNothingIsCompleted) {
  const auto words = told(Fails::kAbandon, kShort,
                          {[&](Communicator& comm) {
                             start(comm);
                             go_on();
                           },
                           [&](Communicator& comm) {
                             await_other();
                             reduce(comm);
                           }});
  EXPECT_EQ(words[0], "");
  EXPECT_EQ(words[1], "abandon");
  EXPECT_EQ(num_completed_, 0);
}

}  // namespace
}  // namespace culprit::test
