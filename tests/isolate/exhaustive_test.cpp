// minimal_combinations against a brute force that reads the definition literally, on random
// programs.
#include "isolate/exhaustive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "isolate/brute_force.hpp"
#include "isolate/planted.hpp"

namespace culprit {
namespace {

using planted::Bug;

SettingSet set_of(std::initializer_list<std::pair<int, int>> pairs) {
  SettingSet settings;
  for (const auto& [which, value] : pairs) {
    settings.push_back({static_cast<std::uint16_t>(which), static_cast<std::uint16_t>(value)});
  }
  return settings;
}

std::vector<ExactCombination> exact_of(const Space& space, const std::vector<Bug>& bugs) {
  return minimal_combinations(space, brute::full_table(space, bugs).rows);
}

TEST(ExhaustiveTest, EnumeratesExactlyTheValidAssignments) {
  Random random(3);
  for (int round = 0; round < 100; ++round) {
    Space space = planted::random_space(random, 2 + random.below(5), 4);
    brute::add_constraints(random, space, random.below(4));
    const auto valid = enumerate_valid(space, 100'000);
    ASSERT_TRUE(valid);
    EXPECT_EQ(*valid, brute::valid_assignments(space));
    if (valid->size() > 1) {
      EXPECT_FALSE(enumerate_valid(space, valid->size() - 1));
    }
    EXPECT_TRUE(enumerate_valid(space, valid->size()));
  }
}

TEST(ExhaustiveTest, MatchesPrimeImplicantsWhereOneFingerprintMasksNothing) {
  Random random(11);
  std::size_t num_found = 0;
  for (int round = 0; round < 200; ++round) {
    Space space = planted::random_space(random, 2 + random.below(6), 4);
    brute::add_constraints(random, space, random.below(3));
    std::vector<Bug> bugs = brute::random_bugs(random, space, 4);
    for (Bug& bug : bugs) bug.fingerprint = "same";
    const brute::Table table = brute::full_table(space, bugs);
    std::set<SettingSet> found;
    for (const ExactCombination& one : minimal_combinations(space, table.rows)) {
      found.insert(one.settings);
    }
    EXPECT_EQ(found, brute::prime_implicants(space, table, 0)) << "round " << round;
    num_found += found.size();
  }
  EXPECT_GT(num_found, 300U);  // the comparison was not of empty sets
}

TEST(ExhaustiveTest, MatchesDefinitionUnderMaskingConstraintsAndInvertedSwitches) {
  Random random(12);
  std::size_t num_found = 0;
  for (int round = 0; round < 200; ++round) {
    Space space = planted::random_space(random, 2 + random.below(6), 4);
    brute::add_constraints(random, space, random.below(3));
    const brute::Table table = brute::full_table(space, brute::random_bugs(random, space, 5));
    const std::vector<ExactCombination> found = minimal_combinations(space, table.rows);
    EXPECT_EQ(brute::definition_violations(space, table, found), "") << "round " << round;
    num_found += found.size();
  }
  EXPECT_GT(num_found, 300U);
}

TEST(ExhaustiveTest, MatchesDefinitionAtTwelveSwitches) {
  Random random(13);
  for (int round = 0; round < 8; ++round) {
    const Space space = planted::two_valued(12);
    const brute::Table table = brute::full_table(space, brute::random_bugs(random, space, 5));
    const std::vector<ExactCombination> found = minimal_combinations(space, table.rows);
    EXPECT_EQ(brute::definition_violations(space, table, found), "") << "round " << round;
  }
}

TEST(ExhaustiveTest, FindsWhatWasPlantedBehindMasks) {
  const Space space = planted::two_valued(6);
  // {1, 2} strikes first and hides {0} and {1, 3}.
  const std::vector<Bug> bugs = {{set_of({{1, 0}, {2, 0}}), "first"},
                                 {set_of({{0, 0}}), "second"},
                                 {set_of({{1, 0}, {3, 0}}), "third"}};
  std::set<SettingSet> found;
  for (const ExactCombination& one : exact_of(space, bugs)) found.insert(one.settings);
  EXPECT_EQ(found, (std::set<SettingSet>{bugs[0].settings, bugs[1].settings, bugs[2].settings}));
}

TEST(ExhaustiveTest, KeepsAFailureInsideAnotherOneAsSecondFinding) {
  const Space space = planted::two_valued(4);
  const std::vector<Bug> bugs = {{set_of({{0, 0}, {1, 0}, {2, 0}}), "narrow"},
                                 {set_of({{0, 0}}), "wide"}};
  const std::vector<ExactCombination> found = exact_of(space, bugs);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].settings, bugs[1].settings);
  EXPECT_EQ(found[1].settings, bugs[0].settings);
  EXPECT_NE(found[0].fingerprint, found[1].fingerprint);
}

TEST(ExhaustiveTest, SwitchThatMustBeOffBelongsToTheSet) {
  const Space space = planted::two_valued(3);
  const std::vector<ExactCombination> found =
      exact_of(space, {{set_of({{0, 0}, {2, 1}}), "inverted"}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].settings, set_of({{0, 0}, {2, 1}}));
}

TEST(ExhaustiveTest, NothingFailsNothingFound) {
  EXPECT_TRUE(exact_of(planted::two_valued(3), {}).empty());
}

}  // namespace
}  // namespace culprit
