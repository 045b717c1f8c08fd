#include "target/toggle_spec.hpp"

#include "target_test_support.hpp"

namespace culprit {
namespace {

TEST(ToggleSpecTest, ParsesValuesAndNamesTheEmptyOne) {
  const Toggle skip = parse_toggle("skip=--skip|");
  EXPECT_EQ(skip.name, "skip");
  EXPECT_EQ(skip.texts, (std::vector<std::string>{"--skip", ""}));
  EXPECT_EQ(skip.values, (std::vector<std::string>{"--skip", "off"}));
  EXPECT_EQ(parse_toggle("acc=1|2|4").values, (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(parse_toggle("re=a\\|b|c\\\\d|e\\f").texts,
            (std::vector<std::string>{"a|b", "c\\d", "e\\f"}));
  EXPECT_EQ(parse_toggle("x=a=b|").texts[0], "a=b");
  EXPECT_EQ(parse_toggle("x=off|").values, (std::vector<std::string>{"off", "(empty)"}));
  const Toggle blocking = parse_environment_toggle("CUDA_LAUNCH_BLOCKING=1|");
  EXPECT_TRUE(blocking.is_environment);
  EXPECT_EQ(blocking.values, (std::vector<std::string>{"1", "unset"}));
}

TEST(ToggleSpecTest, RefusesBadToggles) {
  EXPECT_USAGE_ERROR(parse_toggle("skip"), "expected NAME=VALUE|VALUE");
  EXPECT_USAGE_ERROR(parse_toggle("=a|b"), "got name ''");
  EXPECT_USAGE_ERROR(parse_toggle("1x=a|b"), "got name '1x'");
  EXPECT_USAGE_ERROR(parse_toggle("a b=a|b"), "got name 'a b'");
  EXPECT_USAGE_ERROR(parse_toggle("skip=--skip"), "has one value");
  EXPECT_USAGE_ERROR(parse_toggle("skip=a|b|a"), "has the value 'a' twice");
  EXPECT_USAGE_ERROR(parse_toggle("cmd=a|b"), "reserved");
  EXPECT_USAGE_ERROR(parse_toggle("dump.npy=a|b"), "reserved");
  EXPECT_USAGE_ERROR(parse_environment_toggle("A.B=1|"), "got name 'A.B'");
  EXPECT_USAGE_ERROR(parse_environment_toggle("CULPRIT_PROGRESS_FD=1|"), "reserved");
}

class ConstraintTest : public testing::Test {
 protected:
  const std::vector<Toggle> toggles_{parse_toggle("a=--a|"), parse_toggle("b=1|2|4"),
                                     parse_toggle("c=x, y|p -> q|")};
};

TEST_F(ConstraintTest, RequiresForbidsEachOtherValue) {
  const auto constraints = parse_requires("a=--a -> b=2", toggles_);
  ASSERT_EQ(constraints.size(), 2u);
  EXPECT_EQ(constraints[0].all_of, (std::vector<Setting>{{0, 0}, {1, 0}}));
  EXPECT_EQ(constraints[1].all_of, (std::vector<Setting>{{0, 0}, {1, 2}}));
  EXPECT_EQ(constraints[0].text, "requires a=--a -> b=2");
  EXPECT_EQ(parse_requires("b=1->a=off", toggles_).size(), 1u);
  EXPECT_EQ(parse_requires("b=1 -> a=", toggles_)[0].all_of,
            (std::vector<Setting>{{1, 0}, {0, 0}}));
}

TEST_F(ConstraintTest, ExcludesForbidsAllTogether) {
  EXPECT_EQ(parse_excludes("a=--a,b=4", toggles_).all_of, (std::vector<Setting>{{0, 0}, {1, 2}}));
  EXPECT_EQ(parse_excludes("a=off, b=4, c=off", toggles_).all_of.size(), 3u);
}

TEST_F(ConstraintTest, ValuesMayHoldTheSeparator) {
  EXPECT_EQ(parse_excludes("c=x, y, b=1", toggles_).all_of, (std::vector<Setting>{{2, 0}, {1, 0}}));
  EXPECT_EQ(parse_requires("c=p -> q -> a=off", toggles_)[0].all_of,
            (std::vector<Setting>{{2, 1}, {0, 0}}));
}

TEST_F(ConstraintTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_USAGE_ERROR(parse_requires("a=--a", toggles_), "at least two settings with '->'");
  EXPECT_USAGE_ERROR(parse_requires("a=--a -> b=3", toggles_),
                     "'b' has no value '3', expected one of: 1, 2, 4");
  EXPECT_USAGE_ERROR(parse_requires("a=--a -> d=1", toggles_), "no toggle is named 'd'");
  EXPECT_USAGE_ERROR(parse_requires("a -> b=1", toggles_), "expected NAME=VALUE");
  EXPECT_USAGE_ERROR(parse_requires("b=1 -> b=2", toggles_), "names toggle 'b' twice");
  EXPECT_USAGE_ERROR(parse_requires("a=--a -> b=1 -> c=off", toggles_), "expected one '->'");
  EXPECT_USAGE_ERROR(parse_excludes("a=--a", toggles_), "at least two settings");
  const std::vector<Toggle> named{parse_toggle("recompute=1|0"), parse_toggle("x=1|0")};
  EXPECT_USAGE_ERROR(parse_excludes("recomptue=1,x=1", named), "did you mean 'recompute'?");
}

TEST_F(ConstraintTest, SpaceRefusesContradictions) {
  EXPECT_USAGE_ERROR(make_space({}, {}), "no toggle");
  EXPECT_USAGE_ERROR(make_space({toggles_[0], toggles_[0]}, {}), "two toggles are named 'a'");
  EXPECT_USAGE_ERROR(make_space(toggles_, {parse_excludes("a=off,b=4", toggles_)}),
                     "'excludes a=off,b=4' forbids the reference run");
  EXPECT_USAGE_ERROR(make_space(toggles_, parse_requires("a=--a -> b=2", toggles_)),
                     "'requires a=--a -> b=2' forbids the reporter's own run");
  const Space space = make_space(toggles_, {parse_excludes("a=--a,b=4", toggles_)});
  EXPECT_FALSE(is_valid(space, {0, 2, 0}));
  EXPECT_TRUE(is_valid(space, {0, 1, 0}));
  EXPECT_TRUE(is_valid(space, {1, 2, 0}));
}

}  // namespace
}  // namespace culprit
