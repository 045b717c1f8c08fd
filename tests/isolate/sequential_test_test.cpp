// The statistics against published values and by simulation of the promised error rates.
#include "isolate/sequential_test.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "isolate/settings.hpp"

namespace culprit {
namespace {

// Share of 4000 simulated tests of a run with the given rate that end in kKeeps, and their mean
// length.
std::pair<double, double> simulate(double rate, double floor) {
  constexpr int kTests = 4000;
  Random random(8);
  double keeps = 0;
  double runs = 0;
  for (int test = 0; test < kTests; ++test) {
    std::size_t num_failures = 0;
    std::size_t num_runs = 0;
    RateDecision decision = RateDecision::kUndecided;
    while (decision == RateDecision::kUndecided) {
      ++num_runs;
      if (static_cast<double>(random.next() >> 11) * 0x1p-53 < rate) ++num_failures;
      decision = decide_rate(num_failures, num_runs, floor);
    }
    keeps += decision == RateDecision::kKeeps ? 1 : 0;
    runs += static_cast<double>(num_runs);
  }
  return {keeps / kTests, runs / kTests};
}

TEST(SequentialTestTest, ErrorRatesAreWithinWhatIsPromised) {
  // Three standard deviations of 4000 tests at the promised rate.
  const double allowed = kDecisionError + 3 * 0.0016;
  for (const double floor : {0.1, 0.2, 0.5}) {
    EXPECT_GE(simulate(floor, floor).first, 1 - allowed) << floor;
    EXPECT_LE(simulate(floor / 10, floor).first, allowed) << floor;
  }
}

TEST(SequentialTestTest, RepeatsOnlyAsNeeded) {
  EXPECT_EQ(decide_rate(0, 22, 0.2), RateDecision::kUndecided);
  EXPECT_EQ(decide_rate(0, 23, 0.2), RateDecision::kGone);
  EXPECT_EQ(decide_rate(1, 1, 0.2), RateDecision::kUndecided);
  EXPECT_EQ(decide_rate(2, 2, 0.2), RateDecision::kKeeps);
  EXPECT_LT(simulate(0.3, 0.2).second, 12);
  EXPECT_LT(simulate(1.0, 0.2).second, 2.01);
}

TEST(SequentialTestTest, EndsBetweenTheTwoRates) { EXPECT_LE(simulate(0.07, 0.2).second, 93); }

TEST(SequentialTestTest, AbsenceIsTrustedAfterEnoughRepeats) {
  EXPECT_EQ(repeats_to_trust_absence(0.2), 14U);
  EXPECT_EQ(repeats_to_trust_absence(0.5), 5U);
}

TEST(SequentialTestTest, ClopperPearsonMatchesTables) {
  constexpr double kTable = 1e-4;  // the tables' digits
  EXPECT_NEAR(clopper_pearson(0, 10).high, 0.3085, kTable);
  EXPECT_EQ(clopper_pearson(0, 10).low, 0.0);
  EXPECT_NEAR(clopper_pearson(5, 10).low, 0.1871, kTable);
  EXPECT_NEAR(clopper_pearson(5, 10).high, 0.8129, kTable);
  EXPECT_NEAR(clopper_pearson(10, 10).low, 0.6915, kTable);
  EXPECT_EQ(clopper_pearson(10, 10).high, 1.0);
  EXPECT_NEAR(clopper_pearson(6, 20).low, 0.1189, kTable);
  EXPECT_NEAR(clopper_pearson(6, 20).high, 0.5428, kTable);
}

TEST(SequentialTestTest, NoRunsSayNothing) {
  EXPECT_EQ(clopper_pearson(0, 0).low, 0.0);
  EXPECT_EQ(clopper_pearson(0, 0).high, 1.0);
}

TEST(SequentialTestTest, RefusesFloorsOutOfRange) {
  for (const double floor : {0.0, 1.0, -0.1, 2.0}) {
    EXPECT_THROW(decide_rate(0, 1, floor), UsageError);
    EXPECT_THROW(repeats_to_trust_absence(floor), UsageError);
  }
  EXPECT_THROW(clopper_pearson(2, 1), UsageError);
}

}  // namespace
}  // namespace culprit
