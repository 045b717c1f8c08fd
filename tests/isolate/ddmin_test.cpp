// ddmin on predicates with known minimal sets.
#include "isolate/ddmin.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace culprit {
namespace {

using Indices = std::vector<std::size_t>;

bool has_all(const Indices& subset, const Indices& needed) {
  return std::includes(subset.begin(), subset.end(), needed.begin(), needed.end());
}

SubsetTest needs(const Indices& needed, std::size_t* num_tests = nullptr) {
  return [=](const Indices& subset) {
    if (num_tests != nullptr) ++*num_tests;
    return has_all(subset, needed) ? SubsetOutcome::kFails : SubsetOutcome::kPasses;
  };
}

TEST(DdminTest, FindsKnownMinimalSets) {
  const std::vector<Indices> sets = {
      {0}, {7}, {15}, {0, 15}, {3, 4}, {2, 7, 11}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (const Indices& set : sets) EXPECT_EQ(ddmin(16, needs(set)), set);
}

TEST(DdminTest, EmptySetThatFailsIsTheAnswer) {
  EXPECT_EQ(ddmin(4, needs({})), Indices{});
  EXPECT_EQ(ddmin(0, needs({})), Indices{});
}

TEST(DdminTest, OneOfManyTakesLogarithmicallyManyTests) {
  std::size_t num_tests = 0;
  EXPECT_EQ(ddmin(1024, needs({777}, &num_tests)), Indices{777});
  EXPECT_LE(num_tests, 21U);
}

TEST(DdminTest, ResultIsOneMinimalWhereTheFailureIsNotMonotone) {
  // Fails with an even number of indices, one of them 5.
  const SubsetTest test = [](const Indices& subset) {
    const bool fails = subset.size() % 2 == 0 && has_all(subset, {5});
    return fails ? SubsetOutcome::kFails : SubsetOutcome::kPasses;
  };
  const Indices kept = ddmin(8, test);
  EXPECT_EQ(test(kept), SubsetOutcome::kFails);
  for (const std::size_t index : kept) {
    Indices less = kept;
    less.erase(std::find(less.begin(), less.end(), index));
    EXPECT_NE(test(less), SubsetOutcome::kFails);
  }
}

TEST(DdminTest, UnresolvedIsNeverTakenForAFailure) {
  // Index 3 can only be run together with 2 (a requires).
  const SubsetTest test = [](const Indices& subset) {
    if (has_all(subset, {3}) && !has_all(subset, {2})) return SubsetOutcome::kUnresolved;
    return has_all(subset, {3, 9}) ? SubsetOutcome::kFails : SubsetOutcome::kPasses;
  };
  EXPECT_EQ(ddmin(12, test), (Indices{2, 3, 9}));
}

TEST(DdminTest, TestsNoSubsetTwice) {
  std::vector<Indices> tested;
  ddmin(16, [&](const Indices& subset) {
    EXPECT_EQ(std::count(tested.begin(), tested.end(), subset), 0);
    tested.push_back(subset);
    return has_all(subset, {1, 6, 12}) ? SubsetOutcome::kFails : SubsetOutcome::kPasses;
  });
}

}  // namespace
}  // namespace culprit
