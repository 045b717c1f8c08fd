// The contract of every communicator where ranks fail, finish early or wait for one another.
#include "comm/runtimes.hpp"

namespace culprit::test {
namespace {

class CommunicatorFailureContractTest : public RuntimeTest {
 protected:
  std::vector<RankEnd> run(int size, const std::function<void(HostCommunicator&)>& body) {
    return run_ranks(GetParam(), size,
                     [&](TestRank& mine) { body(*mine.group(0, all_ranks(size))); });
  }
};

void leave() { throw SubjectError("OWN", "this rank's own error"); }

bool says(const RankEnd& end, const std::string& text) {
  return end.message.find(text) != std::string::npos;
}

TEST_P(CommunicatorFailureContractTest, CountsThatDifferAreAMismatchOnEveryRank) {
  const auto ends = run(3, [](HostCommunicator& comm) {
    Floats buffer(comm.rank() == 2 ? 5 : 4);
    comm.all_reduce(buffer, "sum of gradients");
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.kind, kind::kCollectiveMismatch);
    EXPECT_TRUE(says(end, "sum of gradients") && says(end, "rank 0 gave 4 elements, rank 2 gave 5"))
        << end.message;
  }
}

TEST_P(CommunicatorFailureContractTest, OneRankOfAGroupFailsAloneAndItsPeersLoseIt) {
  const auto ends = run(4, [](HostCommunicator& comm) {
    Floats buffer{1.0F};
    comm.all_reduce(buffer, "before");
    EXPECT_EQ(buffer[0], 4.0F);  // complete collectives stay complete
    if (comm.rank() == 2) leave();
    comm.all_reduce(buffer, "after");
    ADD_FAILURE() << "rank " << comm.rank() << " went on";
  });
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(ends[rank].kind, rank == 2 ? "OWN" : kind::kPeerLost) << "rank " << rank;
  EXPECT_TRUE(says(ends[0], "rank 0 waits in after for rank 2, which has left")) << ends[0].message;
}

TEST_P(CommunicatorFailureContractTest, OnlyWhoWaitsForALostRankEnds) {
  const auto ends = run(3, [](HostCommunicator& comm) {
    Floats buffer{1.0F};
    if (comm.rank() == 0) leave();
    if (comm.rank() == 1) {
      comm.send(buffer, 2, "work");
    } else {
      EXPECT_TRUE(comm.receive(buffer, 1, "work"));
    }
  });
  EXPECT_EQ(ends[0].kind, "OWN");
  EXPECT_EQ(ends[1].kind, "");
  EXPECT_EQ(ends[2].kind, "");
}

TEST_P(CommunicatorFailureContractTest, LossSpreadsAlongTheChainOfWaits) {
  const auto ends = run(3, [](HostCommunicator& comm) {
    Floats buffer(1);
    if (comm.rank() == 0) leave();
    comm.receive(buffer, comm.rank() - 1, "token");
  });
  EXPECT_EQ(ends[1].kind, kind::kPeerLost);
  EXPECT_EQ(ends[2].kind, kind::kPeerLost);
  EXPECT_TRUE(says(ends[2], "for rank 1")) << ends[2].message;
}

TEST_P(CommunicatorFailureContractTest, MessageOfALostRankStillArrives) {
  const auto ends = run(2, [](HostCommunicator& comm) {
    Floats buffer{3.0F};
    if (comm.rank() == 0) {
      comm.send(buffer, 1, "last words");
      leave();
    }
    Floats got(1);
    EXPECT_TRUE(comm.receive(got, 0, "last words"));
    EXPECT_EQ(got[0], 3.0F);
    comm.receive(got, 0, "more");
  });
  EXPECT_EQ(ends[1].kind, kind::kPeerLost);
  EXPECT_TRUE(says(ends[1], "waits in more")) << ends[1].message;
}

TEST_P(CommunicatorFailureContractTest, CollectiveThatALostRankHadJoinedCompletes) {
  const auto ends = run(2, [](HostCommunicator& comm) {
    Floats buffer{1.0F};
    if (comm.rank() == 0) {
      comm.start_all_reduce(buffer, "joined");
      leave();
    }
    comm.all_reduce(buffer, "joined");
    EXPECT_EQ(buffer[0], 2.0F);
  });
  EXPECT_EQ(ends[1].kind, "");
}

TEST_P(CommunicatorFailureContractTest, WaitForARankThatHasFinishedIsAHang) {
  const auto ends = run(3, [](HostCommunicator& comm) {
    Floats buffer(1);
    if (comm.rank() == 1) return;
    if (comm.rank() == 2) comm.receive(buffer, 1, "gradient 3");
  });
  EXPECT_EQ(ends[0].kind, "");
  EXPECT_EQ(ends[2].kind, "HANG");
  EXPECT_EQ(ends[2].message, "rank 2 waits in gradient 3 for rank 1, which has finished");
}

TEST_P(CommunicatorFailureContractTest, CollectiveThatAMemberNeverCallsIsAHang) {
  const auto ends = run(4, [](HostCommunicator& comm) {
    Floats buffer{1.0F};
    if (comm.rank() != 3) comm.all_reduce(buffer, "skipped by one");
  });
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ends[rank].kind, "HANG");
  EXPECT_TRUE(says(ends[0], "waits in skipped by one")) << ends[0].message;
  EXPECT_EQ(ends[3].kind, "");
}

TEST_P(CommunicatorFailureContractTest, CycleOfWaitsIsAHangThatNamesWhoWaitsWhere) {
  const auto ends = run(3, [](HostCommunicator& comm) {
    Floats buffer(1);
    comm.receive(buffer, (comm.rank() + 1) % 3, "token " + std::to_string(comm.rank()));
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.kind, "HANG");
    EXPECT_EQ(end.message,
              "rank 0 waits in token 0 for rank 1; rank 1 waits in token 1 for rank 2; rank 2 "
              "waits in token 2 for "
              "rank 0");
  }
}

TEST_P(CommunicatorFailureContractTest, CollectivesOfTwoGroupsInOppositeOrdersAreAHang) {
  const auto ends = run_ranks(GetParam(), 2, [](TestRank& mine) {
    const auto left = mine.group(0, {0, 1});
    const auto right = mine.group(1, {0, 1});
    Floats buffer{1.0F};
    (mine.rank == 0 ? left : right)->all_reduce(buffer, mine.rank == 0 ? "left" : "right");
  });
  for (const RankEnd& end : ends) {
    EXPECT_EQ(end.kind, "HANG");
    EXPECT_TRUE(says(end, "rank 0 waits in left for rank 1; rank 1 waits in right for rank 0"))
        << end.message;
  }
}

TEST_P(CommunicatorFailureContractTest, LossOfOnePeerDoesNotDependOnWhenAnotherFinishes) {
  constexpr int kRuns = 100;
  for (int i = 0; i < kRuns; ++i) {
    const auto ends = run(3, [](HostCommunicator& comm) {
      Floats buffer{1.0F};
      if (comm.rank() == 1) return;
      if (comm.rank() == 2) leave();
      comm.all_reduce(buffer, "sum");
    });
    EXPECT_EQ(ends[0].kind, kind::kPeerLost) << ends[0].message;
  }
}

TEST_P(CommunicatorFailureContractTest, EveryWayOfEndingStaysTheSameOverManyRuns) {
  constexpr int kRuns = 100;  // races between leaving and waiting show within a few dozen
  for (int i = 0; i < kRuns; ++i) {
    const auto ends = run(4, [](HostCommunicator& comm) {
      Floats buffer{1.0F};
      comm.all_reduce(buffer, "before");
      if (comm.rank() == 1) leave();
      if (comm.rank() == 3) return;
      comm.receive(buffer, comm.rank() == 0 ? 1 : 3, "after");
    });
    EXPECT_EQ(ends[0].kind, kind::kPeerLost);
    EXPECT_EQ(ends[1].kind, "OWN");
    EXPECT_EQ(ends[2].kind, "HANG");
    EXPECT_EQ(ends[3].kind, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CommunicatorFailureContractTest,
                         ::testing::ValuesIn(runtimes_under_test()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace culprit::test
