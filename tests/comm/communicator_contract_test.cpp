// The contract of every communicator: what arrives, in which order, and what is counted.
#include <chrono>
#include <thread>

#include "comm/runtimes.hpp"

namespace culprit::test {
namespace {

class CommunicatorContractTest : public RuntimeTest {
 protected:
  // Runs body(comm) on every rank of one group of `size`; all must finish.
  void run(int size, const std::function<void(HostCommunicator&)>& body) {
    const auto ends =
        run_ranks(GetParam(), size, [&](TestRank& mine) { body(*mine.group(0, all_ranks(size))); });
    for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "") << end.message;
  }
};

TEST_P(CommunicatorContractTest, AllReduceGivesTheExactSumOnEveryRank) {
  for (const int size : {1, 2, 4, 8})
    run(size, [size](HostCommunicator& comm) {
      EXPECT_EQ(comm.size(), size);
      Floats buffer{static_cast<float>(comm.rank() + 1), 10.0F, -static_cast<float>(comm.rank())};
      comm.all_reduce(buffer, "sum");
      EXPECT_EQ(buffer,
                (Floats{static_cast<float>(size * (size + 1) / 2), 10.0F * static_cast<float>(size),
                        -static_cast<float>(size * (size - 1) / 2)}));
    });
}

TEST_P(CommunicatorContractTest, AllReduceGivesTheSameBitsToAll) {
  run(4, [](HostCommunicator& comm) {
    Floats buffer, all(400);
    for (int i = 0; i < 100; ++i)
      buffer.push_back(1.0F / static_cast<float>(1 + i + 7 * comm.rank()));
    comm.all_reduce(buffer, "sum");
    comm.all_gather(buffer, all, "gather");
    for (int i = 0; i < 400; ++i) EXPECT_EQ(all[i], buffer[i % 100]) << i;
  });
}

TEST_P(CommunicatorContractTest, AllReduceAddsInRankOrderToTheBit) {
  if (!GetParam().sums_in_rank_order) GTEST_SKIP() << "this communicator has an order of its own";
  // (large + small) - large is 0 in float32 and large - large + small is small: any other order
  // gives another sum.
  const DType dtype = GetParam().dtype;
  const float large = rounded(dtype, dtype == DType::kFloat16 ? 6e4F : 1e8F);
  const float small = rounded(dtype, dtype == DType::kFloat16 ? 6e-8F : 1.0F);
  const Floats parts{large, small, -large, small, small / 2};
  float sum = 0.0F;
  for (const float part : parts) sum += rounded(dtype, part);
  const float expected = rounded(dtype, sum);
  for (int repeat = 0; repeat < 20; ++repeat)
    run(5, [&](HostCommunicator& comm) {
      Floats buffer{parts[comm.rank()]};
      comm.all_reduce(buffer, "sum");
      EXPECT_EQ(buffer[0], expected);
    });
}

TEST_P(CommunicatorContractTest, AllReduceRoundsOnceWhateverTheNumberOfRanks) {
  if (!GetParam().sums_in_rank_order)
    GTEST_SKIP() << "this communicator rounds between its additions";
  // In a two-byte type 1 + u/2 is 1 again: rounded at each of the additions the small parts would
  // vanish.
  const auto half_step = static_cast<float>(unit_roundoff(GetParam().dtype));
  run(5, [half_step](HostCommunicator& comm) {
    Floats buffer{comm.rank() == 0 ? 1.0F : half_step};
    comm.all_reduce(buffer, "sum");
    EXPECT_EQ(buffer[0], comm.dtype() == DType::kFloat32 ? 1.0F : 1.0F + 4.0F * half_step);
  });
}

TEST_P(CommunicatorContractTest, LongBuffersArriveWhole) {
  constexpr int kLong = 100'003;  // no multiple of anything
  run(3, [](HostCommunicator& comm) {
    Floats buffer(kLong), all(3 * kLong);
    for (int i = 0; i < kLong; ++i) buffer[i] = static_cast<float>(i % 29 + comm.rank());
    const Floats mine = buffer;
    comm.all_reduce(buffer, "sum");
    comm.all_gather(mine, all, "gather");
    int wrong = 0;
    for (int i = 0; i < kLong; ++i) {
      wrong += buffer[i] != static_cast<float>(3 * (i % 29) + 3);
      for (int rank = 0; rank < 3; ++rank)
        wrong += all[rank * kLong + i] != static_cast<float>(i % 29 + rank);
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST_P(CommunicatorContractTest, MembersThatCallDifferentCollectivesEachGetTheirOwn) {
  run(2, [](HostCommunicator& comm) {
    Floats mine{static_cast<float>(1 + comm.rank()), 10.0F}, all(4);
    if (comm.rank() == 0) {
      comm.all_gather(mine, all, "gather");
      EXPECT_EQ(all, (Floats{1, 10, 2, 10}));
    } else {
      comm.all_reduce(mine, "sum");
      EXPECT_EQ(mine, (Floats{3, 20}));
    }
  });
}

TEST_P(CommunicatorContractTest, AllReduceOfNothingCompletes) {
  run(3, [](HostCommunicator& comm) {
    Floats buffer;
    comm.all_reduce(buffer, "empty");
    EXPECT_TRUE(buffer.empty());
  });
}

TEST_P(CommunicatorContractTest, AllGatherGivesEveryPartInRankOrder) {
  run(4, [](HostCommunicator& comm) {
    const Floats mine{static_cast<float>(comm.rank()), static_cast<float>(10 * comm.rank())};
    Floats all(8, -1.0F);
    comm.all_gather(mine, all, "gather");
    EXPECT_EQ(all, (Floats{0, 0, 1, 10, 2, 20, 3, 30}));
    EXPECT_EQ(mine[0], static_cast<float>(comm.rank()));
  });
}

TEST_P(CommunicatorContractTest, AllGatherRefusesAResultOfTheWrongSize) {
  run(1, [](HostCommunicator& comm) {
    const Floats mine{1.0F, 2.0F};
    Floats all(3);
    EXPECT_THROW(comm.all_gather(mine, all, "gather"), std::invalid_argument);
  });
}

TEST_P(CommunicatorContractTest, StartedAllReduceCompletesAtItsWait) {
  run(2, [](HostCommunicator& comm) {
    Floats first{1.0F}, second{10.0F};
    const auto one = comm.start_all_reduce(first, "first");
    const auto two = comm.start_all_reduce(second, "second");
    two->wait();
    EXPECT_EQ(second[0], 20.0F);
    one->wait();
    EXPECT_EQ(first[0], 2.0F);
    one->wait();  // a second wait does nothing
    EXPECT_EQ(first[0], 2.0F);
  });
}

TEST_P(CommunicatorContractTest, MembersMayComeAtAnyTime) {
  for (int last = 0; last < 2; ++last)
    run(2, [last](HostCommunicator& comm) {
      const auto come_late = [&] {
        if (comm.rank() == last) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      };
      Floats sum{1.0F}, started{10.0F}, all(2);
      come_late();
      comm.all_reduce(sum, "sum");
      EXPECT_EQ(sum[0], 2.0F);
      come_late();
      const auto work = comm.start_all_reduce(started, "started");
      come_late();
      work->wait();
      EXPECT_EQ(started[0], 20.0F);
      come_late();
      comm.all_gather(sum, all, "gather");
      EXPECT_EQ(all, (Floats{2.0F, 2.0F}));
    });
}

TEST_P(CommunicatorContractTest, StartedAllReduceGoesOnWhileAMemberIsBusyElsewhere) {
  run(2, [](HostCommunicator& comm) {
    Floats sum{1.0F};
    if (comm.rank() == 0) {
      const auto work = comm.start_all_reduce(sum, "sum");
      Floats told(1);
      comm.receive(told, 1, "what the other has got");  // which needs this rank's part of the sum
      EXPECT_EQ(told[0], 2.0F);
      work->wait();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      comm.all_reduce(sum, "sum");
      comm.send(sum, 0, "what the other has got");
    }
    EXPECT_EQ(sum[0], 2.0F);
  });
}

TEST_P(CommunicatorContractTest, WorkAbandonedAfterAllCameLeavesThePeersUnaffected) {
  run(2, [](HostCommunicator& comm) {
    Floats buffer{1.0F}, told(1);
    {
      const auto work = comm.start_all_reduce(buffer, "abandoned");
      if (comm.rank() == 1) work->wait();
      if (comm.rank() == 1) comm.send(buffer, 0, "all have come");
      if (comm.rank() == 0) comm.receive(told, 1, "all have come");
    }
    comm.all_reduce(buffer, "the next one");
    EXPECT_EQ(buffer[0], 3.0F);
  });
}

TEST_P(CommunicatorContractTest, AbandonedWorkLeavesThePeersUnaffected) {
  run(3, [](HostCommunicator& comm) {
    Floats buffer{1.0F};
    if (comm.rank() == 1)
      comm.start_all_reduce(buffer, "abandoned");
    else
      comm.all_reduce(buffer, "abandoned");
    EXPECT_EQ(buffer[0], comm.rank() == 1 ? 1.0F : 3.0F);
    comm.all_reduce(buffer, "the next one");
    EXPECT_EQ(buffer[0], 7.0F);
  });
}

TEST_P(CommunicatorContractTest, MessagesArriveInOrderAndTheSenderNeverWaits) {
  run(2, [](HostCommunicator& comm) {
    constexpr int kMessages = 50;
    if (comm.rank() == 0) {
      for (int i = 0; i < kMessages; ++i) {
        const Floats message{static_cast<float>(i), -1.0F};
        comm.send(message, 1, "message");
      }
      Floats ready(1);
      EXPECT_TRUE(comm.receive(ready, 1, "answer"));
    } else {
      const Floats ready{1.0F};
      comm.send(ready, 0, "answer");
      for (int i = 0; i < kMessages; ++i) {
        Floats message(2);
        EXPECT_TRUE(comm.receive(message, 0, "message"));
        EXPECT_EQ(message[0], static_cast<float>(i));
      }
    }
  });
}

TEST_P(CommunicatorContractTest, NoneIsToldAndLeavesTheBufferAlone) {
  run(2, [](HostCommunicator& comm) {
    if (comm.rank() == 0) {
      comm.send_none(1, "none");
      const Floats value{7.0F};
      comm.send(value, 1, "value");
    } else {
      Floats buffer{5.0F};
      EXPECT_FALSE(comm.receive(buffer, 0, "none"));
      EXPECT_EQ(buffer[0], 5.0F);
      EXPECT_TRUE(comm.receive(buffer, 0, "value"));
      EXPECT_EQ(buffer[0], 7.0F);
    }
  });
}

TEST_P(CommunicatorContractTest, MessageOfAnotherSizeIsABrokenProgramAndGone) {
  run(2, [](HostCommunicator& comm) {
    Floats two{1.0F, 2.0F}, three{3.0F, 4.0F, 5.0F};
    if (comm.rank() == 0) {
      comm.send(two, 1, "message");
      comm.send(three, 1, "the next one");
      EXPECT_TRUE(comm.receive(two, 1, "answer"));
      EXPECT_EQ(two, (Floats{6.0F, 7.0F}));
    } else {
      EXPECT_THROW(comm.receive(three, 0, "message"), std::logic_error);
      EXPECT_TRUE(comm.receive(three, 0, "the next one"));
      EXPECT_EQ(three, (Floats{3.0F, 4.0F, 5.0F}));
      comm.send({6.0F, 7.0F}, 0, "answer");
    }
  });
}

TEST_P(CommunicatorContractTest, GroupsOfTheSameMembersDoNotMix) {
  const auto ends = run_ranks(GetParam(), 2, [](TestRank& mine) {
    const auto left = mine.group(0, {0, 1});
    const auto right = mine.group(1, {0, 1});
    Floats a{1.0F}, b{100.0F};
    // Started in opposite orders: each group counts its own calls.
    const auto first =
        mine.rank == 0 ? left->start_all_reduce(a, "a") : right->start_all_reduce(b, "b");
    const auto second =
        mine.rank == 0 ? right->start_all_reduce(b, "b") : left->start_all_reduce(a, "a");
    first->wait();
    second->wait();
    EXPECT_EQ(a[0], 2.0F);
    EXPECT_EQ(b[0], 200.0F);
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "");
}

TEST_P(CommunicatorContractTest, SubgroupRanksFollowTheOrderOfItsMembers) {
  const auto ends = run_ranks(GetParam(), 4, [](TestRank& mine) {
    const int rank = mine.rank;
    const std::vector<int> members =
        rank % 2 == 0 ? std::vector<int>{2, 0} : std::vector<int>{3, 1};
    const auto comm = mine.group(rank % 2, members);
    EXPECT_EQ(comm->rank(), rank < 2 ? 1 : 0);
    const Floats part{static_cast<float>(rank)};
    Floats all(2);
    comm->all_gather(part, all, "gather");
    EXPECT_EQ(all, (rank % 2 == 0 ? Floats{2, 0} : Floats{3, 1}));
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "");
}

TEST_P(CommunicatorContractTest, CountersTellCallsAndBytes) {
  run(2, [](HostCommunicator& comm) {
    Floats buffer(3), all(6);
    comm.all_reduce(buffer, "sum");
    comm.all_gather(buffer, all, "gather");
    if (comm.rank() == 0) {
      comm.send(buffer, 1, "value");
      comm.send_none(1, "none");
    }
    EXPECT_EQ(comm.counters().collectives, 2);
    const auto element = static_cast<std::int64_t>(size_of(comm.dtype()));
    EXPECT_EQ(comm.counters().collective_bytes, 6 * element);
    EXPECT_EQ(comm.counters().transfers, comm.rank() == 0 ? 2 : 0);
    EXPECT_EQ(comm.counters().transfer_bytes, comm.rank() == 0 ? 3 * element : 0);
  });
}

TEST_P(CommunicatorContractTest, ManyRoundsOfEverythingStayExact) {
  constexpr int kRounds = 400, kRanks = 4;
  run(kRanks, [](HostCommunicator& comm) {
    const int me = comm.rank(), next = (me + 1) % kRanks, previous = (me + kRanks - 1) % kRanks;
    float token = static_cast<float>(me);
    for (int round = 0; round < kRounds; ++round) {
      Floats sum{token, 1.0F};
      const auto work = comm.start_all_reduce(sum, "sum");
      const Floats mine{token};
      comm.send(mine, next, "token");
      Floats got(1);
      EXPECT_TRUE(comm.receive(got, previous, "token"));
      token = got[0];
      work->wait();
      EXPECT_EQ(sum, (Floats{6.0F, 4.0F}));
      Floats all(kRanks);
      comm.all_gather(got, all, "gather");
      EXPECT_EQ(all[me], token);
    }
    EXPECT_EQ(token, static_cast<float>(me));  // kRounds is a multiple of kRanks
  });
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CommunicatorContractTest,
                         ::testing::ValuesIn(runtimes_under_test()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace culprit::test
