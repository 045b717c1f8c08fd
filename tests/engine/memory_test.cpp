// Rule 16: what a stage releases, what it holds over time, and what reading released data does.
#include "engine/run_cell.hpp"
#include "gtest/gtest.h"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

int released(Settings settings) {
  settings.emplace_back("release", "1");
  int total = 0;
  for (const RankResult& rank : run_cell(stack(), cell_of(settings))) {
    EXPECT_FALSE(rank.error) << rank.error->message;
    total += rank.released_outputs;
  }
  return total;
}

// Peak bytes of tensor rank 0 of one stage.
std::int64_t peak(int stage, const Settings& settings) {
  const Cell cell = cell_of(settings);
  return run_cell(stack(), cell)[stage * cell.tp].memory.peak_bytes;
}

TEST(ReleaseTest, AllReducedOutputOfARowTailStaysHeld) {
  EXPECT_EQ(released({{"tail", "row"}}), 0);
  EXPECT_EQ(released({{"tail", "row"}, {"recompute", "nonreentrant"}}), 0);
}

TEST(ReleaseTest, UnderReentrantRecomputeItIsReleased) {
  EXPECT_EQ(released({{"tail", "row"}, {"recompute", "reentrant"}}), 2 * 4);  // tensor ranks x micro-batches
}

TEST(ReleaseTest, OutputOfAnAddOrAGatherOrAtTp1IsReleased) {
  EXPECT_EQ(released({{"tail", "row"}, {"residual", "1"}}), 2 * 4);
  EXPECT_EQ(released({{"tail", "gather"}}), 2 * 4);
  EXPECT_EQ(released({{"tp", "1"}}), 4);
}

TEST(ReleaseTest, EveryStageButTheLastReleases) {
  EXPECT_EQ(released({{"tp", "4"}, {"pp", "4"}, {"acc", "3"}, {"residual", "1"}}), 4 * 3 * 3);
}

TEST(ReleaseTest, NumbersStayTheSame) {
  for (const char* kind : {"none", "reentrant", "nonreentrant"}) {
    const Outcome outcome =
        outcome_of({{"pp", "4"}, {"tail", "gather"}, {"release", "1"}, {"recompute", kind}, {"acc", "6"}});
    EXPECT_EQ(name_of(outcome), "PASS") << kind << ": " << outcome.message << outcome.where;
  }
}

TEST(MemoryTest, ReleaseLowersThePeakOfAStageThatWaits) {
  const Settings held{{"tp", "1"}, {"pp", "4"}, {"acc", "8"}, {"tokens", "64"}};
  Settings freed = held;
  freed.emplace_back("release", "1");
  // Four micro-batches are in flight in stage 0, one output of 64 x 8 floats each.
  EXPECT_GE(peak(0, held) - peak(0, freed), 3 * 64 * 8 * 4);
}

TEST(MemoryTest, PeakIsBoundedByTheStagesNotByTheMicroBatches) {
  const auto at = [](const char* acc) {
    return peak(0, {{"tp", "1"}, {"pp", "2"}, {"acc", acc}, {"tokens", "16"}});
  };
  EXPECT_LT(at("2"), at("4"));  // from the second step on the accumulated gradients are there as well
  EXPECT_EQ(at("4"), at("8"));
  EXPECT_EQ(at("8"), at("32"));
}

TEST(MemoryTest, EarlierStagesHoldMoreMicroBatches) {
  const Settings settings{{"tp", "1"}, {"pp", "4"}, {"acc", "8"}, {"tokens", "64"}, {"embed", "0"}};
  EXPECT_GT(peak(0, settings), peak(1, settings));
  EXPECT_GT(peak(1, settings), peak(2, settings));
}

TEST(MemoryTest, RecomputeLowersThePeakOfADeepStage) {
  const auto at = [](const char* kind) {
    return peak(0, {{"tp", "1"}, {"pp", "1"}, {"blocks", "8"}, {"tokens", "64"}, {"recompute", kind}});
  };
  EXPECT_LT(at("reentrant"), at("none"));
  EXPECT_LT(at("nonreentrant"), at("none"));
}

TEST(MemoryTest, CopyIdentityIsTheOnlyVariantThatCopiesInTheForward) {
  const auto copied = [](const char* identity) {
    return outcome_of({{"pp", "1"}, {"tail", "gather"}, {"identity", identity}}).copied_bytes;
  };
  // 2 ranks x 2 blocks x 4 micro-batches of 3 x 8 floats
  EXPECT_EQ(copied("copy"), 2 * 2 * 4 * 3 * 8 * 4);
  EXPECT_EQ(copied("view"), 0);
  EXPECT_EQ(copied("skip"), 0);
}

}  // namespace
}  // namespace culprit::test
