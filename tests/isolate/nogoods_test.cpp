// The constraint solver against counting through all assignments; what validate() refuses.
#include "isolate/nogoods.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "isolate/brute_force.hpp"
#include "isolate/planted.hpp"

namespace culprit {
namespace {

TEST(NogoodsTest, CompletesExactlyWhatHasAValidCompletion) {
  Random random(1);
  std::size_t num_infeasible = 0;
  for (int round = 0; round < 300; ++round) {
    Space space = planted::random_space(random, 2 + random.below(5), 4);
    brute::add_constraints(random, space, random.below(8));
    const Nogoods nogoods(space);
    const Assignment off = off_assignment(space);
    const SettingSet fixed =
        planted::random_settings(random, space, random.below(space.switches.size() + 1));
    std::optional<Assignment> plainest;
    std::size_t fewest_on = 0;
    for (const Assignment& valid : brute::valid_assignments(space)) {
      const std::size_t num_on = differences(off, valid).size();
      if (!contains(valid, fixed) || (plainest && num_on >= fewest_on)) continue;
      plainest = valid;
      fewest_on = num_on;
    }
    EXPECT_EQ(nogoods.plainest(fixed, off), plainest);
    const std::optional<Assignment> completed = nogoods.complete(fixed, off);
    EXPECT_EQ(completed.has_value(), plainest.has_value());
    num_infeasible += completed ? 0 : 1;
    if (!completed) continue;
    EXPECT_TRUE(contains(*completed, fixed));
    EXPECT_FALSE(nogoods.violated_by(*completed));
  }
  EXPECT_GT(num_infeasible, 10U);
}

TEST(NogoodsTest, KeepsTheWishWhereItIsValid) {
  const Space space = planted::two_valued(5);
  const Assignment wish = {0, 1, 0, 1, 0};
  EXPECT_EQ(Nogoods(space).complete({}, wish), wish);
}

TEST(NogoodsTest, TwoValuesOfOneSwitchNeverOccurTogether) {
  Nogoods nogoods(planted::two_valued(2));
  nogoods.add({{0, 0}, {0, 1}});
  EXPECT_FALSE(nogoods.violated_by({0, 0}));
  EXPECT_TRUE(nogoods.complete({}, {0, 0}));
}

TEST(NogoodsTest, AnEmptyNogoodForbidsEverything) {
  Nogoods nogoods(planted::two_valued(2));
  nogoods.add({});
  EXPECT_FALSE(nogoods.complete({}, {0, 0}));
}

TEST(ValidateTest, RefusesSpacesThatCannotBeSearched) {
  EXPECT_THROW(validate({}), UsageError);
  EXPECT_THROW(validate({{{"a", {"on"}}}, {}}), UsageError);
  EXPECT_THROW(validate({{{"a", {"on", "on"}}}, {}}), UsageError);
  EXPECT_THROW(validate({{{"a", {"on", "off"}}, {"a", {"on", "off"}}}, {}}), UsageError);
  EXPECT_THROW(validate({{{"a", std::vector<std::string>(65, "x")}}, {}}), UsageError);
  Space space = planted::two_valued(2);
  space.constraints = {{{}, "nothing"}};
  EXPECT_THROW(validate(space), UsageError);
  space.constraints = {{{{2, 0}}, "no such switch"}};
  EXPECT_THROW(validate(space), UsageError);
  space.constraints = {{{{0, 2}}, "no such value"}};
  EXPECT_THROW(validate(space), UsageError);
  space.constraints = {{{{0, 1}, {1, 1}}, "forbids all-off"}};
  EXPECT_THROW(validate(space), UsageError);
  space.constraints = {{{{0, 0}, {1, 0}}, "forbids all-first"}};
  EXPECT_NO_THROW(validate(space));
}

}  // namespace
}  // namespace culprit
