// Every feasible tuple is covered, no invalid row occurs, and the arrays stay small.
#include "isolate/covering_array.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "isolate/brute_force.hpp"
#include "isolate/planted.hpp"

namespace culprit {
namespace {

// Tuples of the given strength that occur in the rows, written out without TupleTable.
std::set<SettingSet> tuples_of(const std::vector<Assignment>& rows, std::size_t strength) {
  std::set<SettingSet> tuples;
  for (const Assignment& row : rows) {
    for (std::uint32_t choice = 0; choice < (1U << row.size()); ++choice) {
      SettingSet tuple;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if ((choice >> i & 1U) != 0) tuple.push_back({static_cast<std::uint16_t>(i), row[i]});
      }
      if (tuple.size() == strength) tuples.insert(tuple);
    }
  }
  return tuples;
}

TEST(CoveringArrayTest, CoversAllFeasibleTuplesWithValidRows) {
  Random random(2);
  for (std::uint64_t round = 0; round < 120; ++round) {
    Space space = planted::random_space(random, 3 + random.below(5), 4);
    brute::add_constraints(random, space, random.below(5));
    const int strength = 1 + static_cast<int>(random.below(3));
    const std::vector<Assignment> rows = covering_array(space, strength, round);
    const std::vector<Assignment> valid = brute::valid_assignments(space);
    const std::set<Assignment> allowed(valid.begin(), valid.end());
    for (const Assignment& row : rows) EXPECT_TRUE(allowed.count(row));
    const auto size = static_cast<std::size_t>(strength);
    EXPECT_EQ(tuples_of(rows, size), tuples_of(valid, size)) << "round " << round;
  }
}

TEST(CoveringArrayTest, FixedSettingsAreInEveryRow) {
  const Space space = planted::two_valued(8);
  const SettingSet fixed = {{2, 0}, {5, 1}};
  CoveringArray array(space, 2, Nogoods(space), fixed);
  Random random(1);
  std::vector<Assignment> rows;
  while (const auto row = array.next_row(random)) {
    EXPECT_TRUE(contains(*row, fixed));
    array.cover(*row);
    rows.push_back(*row);
  }
  // C(6, 2) * 4 among the others, 2 * 6 * 2 with one fixed switch, 1 with both.
  EXPECT_EQ(tuples_of(rows, 2).size(), 60U + 24U + 1U);
}

TEST(CoveringArrayTest, NewNogoodsReopenNothingThatIsCovered) {
  const Space space = planted::two_valued(6);
  CoveringArray array(space, 2, Nogoods(space));
  Random random(1);
  while (const auto row = array.next_row(random)) array.cover(*row);
  Nogoods nogoods(space);
  nogoods.add({{0, 0}});
  array.set_nogoods(nogoods);
  EXPECT_FALSE(array.next_row(random));
}

TEST(CoveringArrayTest, TuplesInfeasibleForATimeComeBack) {
  const Space space = planted::two_valued(6);
  CoveringArray array(space, 2, Nogoods(space));
  Nogoods nogoods(space);
  nogoods.add({{0, 0}});
  array.set_nogoods(nogoods);
  Random random(1);
  while (const auto row = array.next_row(random)) {
    EXPECT_EQ((*row)[0], 1);
    array.cover(*row);
  }
  array.set_nogoods(Nogoods(space));
  const auto row = array.next_row(random);
  ASSERT_TRUE(row);
  EXPECT_EQ((*row)[0], 0);
}

TEST(CoveringArrayTest, StaysSmallAtFortySwitches) {
  const Space space = planted::two_valued(40);
  EXPECT_LE(covering_array(space, 2, 1).size(), 14U);
  EXPECT_LE(covering_array(space, 3, 1).size(), 45U);
}

TEST(CoveringArrayTest, RefusesStrengthsOutOfRange) {
  EXPECT_THROW(covering_array(planted::two_valued(3), 0, 1), UsageError);
  EXPECT_THROW(covering_array(planted::two_valued(3), kMaxStrength + 1, 1), UsageError);
}

TEST(TupleTableTest, NumbersAndTuplesAreInverse) {
  Random random(4);
  for (int strength = 1; strength <= kMaxStrength; ++strength) {
    const Space space = planted::random_space(random, 6, 4);
    const TupleTable table(space, strength);
    std::set<SettingSet> seen;
    for (std::size_t i = 0; i < table.size(); ++i) {
      const SettingSet tuple = table.tuple(i);
      EXPECT_EQ(table.index(tuple.data()), i);
      seen.insert(tuple);
    }
    EXPECT_EQ(seen.size(), table.size());
    EXPECT_EQ(seen, tuples_of(brute::valid_assignments(space), static_cast<std::size_t>(strength)));
  }
}

TEST(TupleTableTest, VisitsAnAssignmentsTuples) {
  Random random(5);
  const Space space = planted::random_space(random, 6, 4);
  const Assignment assignment = first_assignment(space);
  for (int strength = 1; strength <= kMaxStrength; ++strength) {
    const TupleTable table(space, strength);
    std::set<SettingSet> visited;
    table.for_each(assignment, [&](std::size_t index) { visited.insert(table.tuple(index)); });
    EXPECT_EQ(visited, tuples_of({assignment}, static_cast<std::size_t>(strength)));
  }
}

TEST(TupleTableTest, CountsTuplesOfAnAddedSetting) {
  const Space space = planted::two_valued(7);
  const TupleTable table(space, 3);
  const SettingSet chosen = {{0, 0}, {2, 1}, {3, 0}, {6, 1}};
  for (const std::uint16_t which : std::vector<std::uint16_t>{1, 4, 5}) {
    std::set<std::size_t> counted;
    const std::size_t count = table.count_with(chosen, {which, 1}, [&](std::size_t index) {
      const SettingSet tuple = table.tuple(index);
      EXPECT_TRUE(is_subset(std::vector<Setting>{{which, 1}}, tuple));
      EXPECT_TRUE(is_subset(without_switch(tuple, which), chosen));
      counted.insert(index);
      return true;
    });
    EXPECT_EQ(count, 6U);  // C(4, 2)
    EXPECT_EQ(counted.size(), 6U);
  }
}

}  // namespace
}  // namespace culprit
