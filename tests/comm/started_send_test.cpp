// The contract of sends that own their buffer until their wait.
#include "comm/runtimes.hpp"

namespace culprit::test {
namespace {

class StartedSendContractTest : public RuntimeTest {};

TEST_P(StartedSendContractTest, WaitedMessagesArriveWholeThroughOneBuffer) {
  const auto ends = run_ranks(GetParam(), 2, [](TestRank& mine) {
    const auto comm = mine.world.group(0, {0, 1}, mine.rank, mine.backend);
    const DeviceValues buffer(mine.backend, Floats(1000));
    for (int i = 0; i < 20; ++i) {
      const Floats message(1000, static_cast<float>(i));
      if (mine.rank == 0) {
        mine.backend.upload(message, buffer.data());
        comm->start_send(buffer.elements(), 1, "message")->wait();
      } else {
        EXPECT_TRUE(comm->receive(buffer.elements(), 0, "message"));
        EXPECT_EQ(buffer.to_host(), message) << i;
      }
    }
    EXPECT_EQ(comm->counters().transfers, mine.rank == 0 ? 20 : 0);
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "") << end.message;
}

TEST_P(StartedSendContractTest, UnwaitedMessagesStillArriveInOrder) {
  const auto ends = run_ranks(GetParam(), 2, [](TestRank& mine) {
    const auto comm = mine.world.group(0, {0, 1}, mine.rank, mine.backend);
    const DeviceValues first(mine.backend, {1.0F}), second(mine.backend, {2.0F}),
        got(mine.backend, {0.0F});
    if (mine.rank == 0) {
      const auto one = comm->start_send(first.elements(), 1, "first");
      const auto two = comm->start_send(second.elements(), 1, "second");
      // Waiting for the answer lets them leave; else this would be a deadlock.
      EXPECT_TRUE(comm->receive(got.elements(), 1, "answer"));
    } else {
      for (const float expected : {1.0F, 2.0F}) {
        EXPECT_TRUE(comm->receive(got.elements(), 0, "message"));
        EXPECT_EQ(got.to_host()[0], expected);
      }
      comm->send(got.elements(), 0, "answer");
    }
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "") << end.message;
}

TEST_P(StartedSendContractTest, AMessageLeavesWhenItsWorkGoes) {
  const auto ends = run_ranks(GetParam(), 2, [](TestRank& mine) {
    const auto comm = mine.world.group(0, {0, 1}, mine.rank, mine.backend);
    const DeviceValues value(mine.backend, {mine.rank == 0 ? 7.0F : 0.0F});
    if (mine.rank == 0) {
      comm->start_send(value.elements(), 1, "message");
    } else {
      EXPECT_TRUE(comm->receive(value.elements(), 0, "message"));
      EXPECT_EQ(value.to_host()[0], 7.0F);
    }
  });
  for (const RankEnd& end : ends) EXPECT_EQ(end.kind, "") << end.message;
}

INSTANTIATE_TEST_SUITE_P(Runtimes, StartedSendContractTest,
                         ::testing::ValuesIn(runtimes_under_test()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace culprit::test
