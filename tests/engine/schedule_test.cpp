// Rule 16: the 1F1B schedule.
#include "pipeline/schedule.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace culprit {
namespace {

std::string order(int stage, int num_stages, int num_micro_batches) {
  std::string text;
  run_1f1b(
      stage, num_stages, num_micro_batches, [&](int m) { text += "F" + std::to_string(m) + " "; },
      [&](int m) { text += "B" + std::to_string(m) + " "; });
  return text;
}

TEST(ScheduleTest, RunsWarmUpThenInTurnThenTheRest) {
  EXPECT_EQ(order(0, 4, 6), "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5 ");
  EXPECT_EQ(order(2, 4, 6), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5 ");
  EXPECT_EQ(order(3, 4, 3), "F0 B0 F1 B1 F2 B2 ");
  EXPECT_EQ(order(0, 1, 2), "F0 B0 F1 B1 ");
}

TEST(ScheduleTest, FewerMicroBatchesThanStagesWarmUpWithAllOfThem) {
  EXPECT_EQ(order(0, 8, 2), "F0 F1 B0 B1 ");
  EXPECT_EQ(order(5, 8, 2), "F0 F1 B0 B1 ");
  EXPECT_EQ(order(6, 8, 2), "F0 F1 B0 B1 ");
  EXPECT_EQ(order(7, 8, 2), "F0 B0 F1 B1 ");
  EXPECT_EQ(num_warmup_forwards(0, 8, 2), 2);
}

TEST(ScheduleTest, EverySizeRunsEachPassOnceInOrderWithBoundedFlight) {
  for (int stages = 1; stages <= 8; ++stages)
    for (int micro_batches = 1; micro_batches <= 12; ++micro_batches)
      for (int stage = 0; stage < stages; ++stage) {
        const int warmup = num_warmup_forwards(stage, stages, micro_batches);
        EXPECT_EQ(warmup, std::min(stages - stage - 1, micro_batches));
        int forwards = 0, backwards = 0, most_in_flight = 0, before_first_backward = -1;
        run_1f1b(
            stage, stages, micro_batches, [&](int m) {
              EXPECT_EQ(m, forwards++);
              most_in_flight = std::max(most_in_flight, forwards - backwards);
            },
            [&](int m) {
              if (before_first_backward < 0) before_first_backward = forwards;
              EXPECT_EQ(m, backwards++);
              EXPECT_LE(backwards, forwards);
            });
        EXPECT_EQ(forwards, micro_batches);
        EXPECT_EQ(backwards, micro_batches);
        EXPECT_EQ(most_in_flight, std::min(warmup + 1, micro_batches));
        EXPECT_EQ(before_first_backward, std::min(warmup + 1, micro_batches));
      }
}

}  // namespace
}  // namespace culprit
