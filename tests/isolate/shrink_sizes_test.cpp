// Sizes go down while the failure stays.
#include "isolate/shrink_sizes.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "isolate/settings.hpp"

namespace culprit {
namespace {

using Fails = std::function<Trial(const Sizes&)>;

EvaluateSizes evaluator(const Fails& fails, std::size_t* num_runs = nullptr) {
  return [=](std::span<const Sizes> batch) {
    std::vector<Trial> trials;
    for (const Sizes& sizes : batch) {
      if (num_runs != nullptr) ++*num_runs;
      trials.push_back(fails(sizes));
    }
    return trials;
  };
}

Trial fail(const char* fingerprint = "bug") { return {Trial::Status::kFail, fingerprint}; }
Trial pass() { return {Trial::Status::kPass, ""}; }

std::vector<SizeAxis> axes() {
  return {{"tp", 8, 1, {1, 2, 4}}, {"micro-batches", 64, 1, {}}, {"features", 4096, 16, {}}};
}

TEST(ShrinkSizesTest, ReachesTheSmallestSizesThatFail) {
  std::size_t num_runs = 0;
  const ShrinkResult result =
      shrink_sizes(axes(), "bug", {},
                   evaluator(
                       [](const Sizes& sizes) {
                         return sizes[0] >= 2 && sizes[1] >= 5 && sizes[2] >= 16 ? fail() : pass();
                       },
                       &num_runs));
  EXPECT_EQ(result.sizes, (Sizes{2, 5, 16}));
  EXPECT_EQ(result.is_smallest, (std::vector<bool>{true, true, true}));
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.num_trials, num_runs);
  EXPECT_LE(num_runs, 16U);
}

TEST(ShrinkSizesTest, AllAtMinimumTakesTwoTrials) {
  std::size_t num_runs = 0;
  const ShrinkResult result =
      shrink_sizes(axes(), "bug", {}, evaluator([](const Sizes&) { return fail(); }, &num_runs));
  EXPECT_EQ(result.sizes, (Sizes{1, 1, 16}));
  EXPECT_EQ(num_runs, 2U);
}

TEST(ShrinkSizesTest, MatchesBruteForceOnRandomMonotoneFailures) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Sizes least;
    std::vector<SizeAxis> some;
    for (int axis = 0; axis < 3; ++axis) {
      const auto current = static_cast<std::int64_t>(1 + random.below(40));
      least.push_back(
          static_cast<std::int64_t>(1 + random.below(static_cast<std::size_t>(current))));
      some.push_back({"axis", current, 1, {}});
    }
    const ShrinkResult result = shrink_sizes(some, "bug", {}, evaluator([&](const Sizes& sizes) {
                                               for (std::size_t i = 0; i < 3; ++i) {
                                                 if (sizes[i] < least[i]) return pass();
                                               }
                                               return fail();
                                             }));
    EXPECT_EQ(result.sizes, least);
  }
}

TEST(ShrinkSizesTest, CoupledAxesMoveInFurtherRounds) {
  // pp may only drop once there are at most 4 micro-batches.
  const std::vector<SizeAxis> coupled = {{"pp", 8, 1, {}}, {"micro-batches", 16, 1, {}}};
  const ShrinkResult result =
      shrink_sizes(coupled, "bug", {}, evaluator([](const Sizes& sizes) {
                     if (sizes[1] > 4 && sizes[0] < 8) return pass();
                     return sizes[1] >= 3 && sizes[0] >= 2 ? fail() : pass();
                   }));
  EXPECT_EQ(result.sizes, (Sizes{2, 3}));
}

TEST(ShrinkSizesTest, AnotherFailureIsNotTheFailure) {
  const std::vector<SizeAxis> one = {{"tp", 8, 1, {}}};
  const ShrinkResult result = shrink_sizes(one, "bug", {}, evaluator([](const Sizes& sizes) {
                                             return sizes[0] >= 3 ? fail() : fail("other");
                                           }));
  EXPECT_EQ(result.sizes, (Sizes{3}));
}

TEST(ShrinkSizesTest, SizesThatCannotRunArePassedOver) {
  // Only multiples of 4 can be run; fails from 12 on.
  const std::vector<SizeAxis> one = {{"features", 32, 1, {}}};
  const ShrinkResult result = shrink_sizes(one, "bug", {}, evaluator([](const Sizes& sizes) {
                                             if (sizes[0] % 4 != 0) return Trial{};
                                             return sizes[0] >= 12 ? fail() : pass();
                                           }));
  EXPECT_EQ(result.sizes, (Sizes{12}));
  EXPECT_EQ(result.is_smallest, (std::vector<bool>{false}));  // 11 can't be judged
}

TEST(ShrinkSizesTest, NonMonotoneFailureEndsAtALocalMinimum) {
  // Fails for even sizes from 6 on.
  const std::vector<SizeAxis> one = {{"blocks", 40, 1, {}}};
  const Fails fails = [](const Sizes& sizes) {
    return sizes[0] >= 6 && sizes[0] % 2 == 0 ? fail() : pass();
  };
  const ShrinkResult result = shrink_sizes(one, "bug", {}, evaluator(fails));
  EXPECT_EQ(fails(result.sizes).status, Trial::Status::kFail);
  EXPECT_EQ(result.is_smallest, (std::vector<bool>{true}));
}

TEST(ShrinkSizesTest, FlakyFailureIsRepeated) {
  std::size_t num_runs = 0;
  ShrinkOptions options;
  options.repeats = 3;
  const std::vector<SizeAxis> one = {{"tp", 8, 1, {}}};
  const ShrinkResult result = shrink_sizes(
      one, "bug", options,
      evaluator(
          [&](const Sizes& sizes) { return sizes[0] >= 4 && num_runs % 3 == 0 ? fail() : pass(); },
          &num_runs));
  EXPECT_EQ(result.sizes, (Sizes{4}));
}

TEST(ShrinkSizesTest, BudgetReturnsTheSmallestSoFar) {
  ShrinkOptions options;
  options.max_trials = 3;
  const std::vector<SizeAxis> one = {{"tp", 1000, 1, {}}};
  const ShrinkResult result =
      shrink_sizes(one, "bug", options,
                   evaluator([](const Sizes& sizes) { return sizes[0] >= 100 ? fail() : pass(); }));
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.num_trials, 3U);
  EXPECT_EQ(result.sizes, (Sizes{500}));
}

TEST(ShrinkSizesTest, RefusesWhatCannotBeShrunk) {
  const EvaluateSizes fails = evaluator([](const Sizes&) { return fail(); });
  const EvaluateSizes passes = evaluator([](const Sizes&) { return pass(); });
  ShrinkOptions none;
  none.max_trials = 0;
  EXPECT_THROW(shrink_sizes({}, "bug", {}, fails), UsageError);
  EXPECT_THROW(shrink_sizes({{"tp", 1, 2, {}}}, "bug", {}, fails), UsageError);
  EXPECT_THROW(shrink_sizes(axes(), "bug", none, fails), UsageError);
  EXPECT_THROW(shrink_sizes(axes(), "bug", {}, passes), UsageError);
}

}  // namespace
}  // namespace culprit
