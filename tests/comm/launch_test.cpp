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
#include "tensor/cpu_backend.hpp"

namespace culprit::test {
namespace {

constexpr int kRanks = 3;

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

// Only collectives are asked of it.
class IdleBackend : public Backend {
 public:
  IdleBackend() : Backend(DType::kFloat32) {}
  std::byte* allocate(std::int64_t) override { return nullptr; }
  void deallocate(std::byte*, std::int64_t) noexcept override {}
  void matmul(const std::byte*, bool, const std::byte*, bool, std::byte*, std::int64_t, std::int64_t,
              std::int64_t) override {}
  void add(float, const std::byte*, float, const std::byte*, std::byte*, std::int64_t) override {}
  void scale(float, const std::byte*, std::byte*, std::int64_t) override {}
  void multiply(float, const std::byte*, const std::byte*, std::byte*, std::int64_t) override {}
  void fill(float, std::byte*, std::int64_t) override {}
  void copy(const std::byte*, std::byte*, std::int64_t) override {}
  void sum(const std::byte*, float, std::byte*, std::int64_t) override {}
  void spread(const std::byte*, float, std::byte*, std::int64_t) override {}
  void slice_columns(const std::byte*, std::int64_t, std::int64_t, std::byte*, std::int64_t,
                     std::int64_t) override {}
  void place_columns(const std::byte*, std::int64_t, std::byte*, std::int64_t, std::int64_t,
                     std::int64_t) override {}
  void upload(std::span<const float>, std::byte*) override {}
  void download(const std::byte*, std::span<float>) override {}
  std::unique_ptr<Parcel> pack(const std::byte*, std::int64_t) override { return nullptr; }
  std::unique_ptr<Parcel> start_pack(const std::byte*, std::int64_t) override { return nullptr; }
  void finish_pack(Parcel&) override {}
  void unpack(Parcel&, std::byte*, std::int64_t) override {}
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
  EXPECT_GT(tally.by_member, 0);
  EXPECT_GT(tally.by_last, 2000);  // some were away
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

// Fails in one way, with one error.
class FailingExchange final : public Exchange {
 public:
  explicit FailingExchange(Fails fails) : fails_(fails) {}
  void give(std::size_t member, Backend&, const CollectiveCall&) override { last_ = member; }
  void complete(std::uint64_t attends) override {
    attends_ = attends;
    if (fails_ == Fails::kComplete) throw SetupError("no room");
  }
  bool is_launched_by_members() const override { return true; }
  void launch(std::size_t member) override {
    if (member != last_) return;
    failed_ = true;
    throw SetupError("no room");
  }
  void take(std::size_t member) override {
    if (member != last_ && (attends_ >> member & 1) != 0) return;  // it launched its own part
    while (!failed_) std::this_thread::yield();
    throw SetupError("no room");
  }
  void abandon(std::size_t) override {
    if (fails_ == Fails::kAbandon) throw SetupError("no room");
  }

 private:
  Fails fails_;
  std::size_t last_ = 0;
  std::uint64_t attends_ = 0;
  std::atomic<bool> failed_{false};
};

class FailingBackend final : public IdleBackend {
 public:
  explicit FailingBackend(Fails fails) : fails_(fails) {}
  std::unique_ptr<Exchange> make_exchange(std::size_t) override {
    return std::make_unique<FailingExchange>(fails_);
  }

 private:
  Fails fails_;
};

// What each of two ranks is told; the second comes 2 ms after the first, which has gone to sleep.
std::array<std::string, 2> told(Fails fails,
                                const std::function<void(Communicator&, int rank)>& body) {
  LocalWorld world(2, std::chrono::microseconds(30));
  std::array<std::string, 2> words;
  const auto run_rank = [&](int rank) {
    FailingBackend backend(fails);
    const auto comm = world.group(0, {0, 1}, rank, backend);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    try {
      body(*comm, rank);
      world.finished(rank);
    } catch (const std::exception& error) {
      words[static_cast<std::size_t>(rank)] = error.what();
      world.failed(rank);
    }
  };
  std::jthread other(run_rank, 1);
  run_rank(0);
  other.join();
  return words;
}

TEST(FailingExchangeTest, EveryMemberIsToldWhereCompletingFails) {
  const auto words = told(Fails::kComplete,
                          [](Communicator& comm, int) { comm.all_reduce({nullptr, 1}, "sum"); });
  EXPECT_EQ(words[0], "no room");
  EXPECT_EQ(words[1], "no room");
}

TEST(FailingExchangeTest, WhoIsAwayIsToldThatItsPartCouldNotBeLaunched) {
  const auto words = told(Fails::kLaunchOfLast,
                          [](Communicator& comm, int) { comm.all_reduce({nullptr, 1}, "sum"); });
  EXPECT_EQ(words[0], "no room");
  EXPECT_EQ(words[1], "no room");
}

TEST(FailingExchangeTest, WorkThatIsDroppedAfterAFailureEndsNoProcess) {
  const auto words = told(Fails::kLaunchOfLast, [](Communicator& comm, int rank) {
    const auto work = comm.start_all_reduce({nullptr, 1}, "sum");
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  EXPECT_EQ(words[0], "");
  EXPECT_EQ(words[1], "no room");
}

TEST(FailingExchangeTest, PeersOfAFailedAbandonAreToldAndReadNothing) {
  const auto words = told(Fails::kAbandon, [](Communicator& comm, int rank) {
    if (rank == 0)
      comm.start_all_reduce({nullptr, 1}, "sum");
    else
      comm.all_reduce({nullptr, 1}, "sum");
  });
  EXPECT_EQ(words[0], "");
  EXPECT_EQ(words[1], "no room");
}

}  // namespace
}  // namespace culprit::test
