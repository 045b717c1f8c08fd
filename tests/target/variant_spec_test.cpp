#include "target/variant_spec.hpp"

#include "target/target_test_support.hpp"

namespace culprit {
namespace {

using Values = std::vector<std::int64_t>;

CommandSpec spec() {
  CommandSpec result;
  result.command = "echo {toggles}";
  result.toggles = {"a=--a|", "b=--b 1|--b 0"};
  return result;
}

std::vector<std::string> words(const CommandTarget& target, const Assignment& trial) {
  return target.request(trial, "").argv;
}

TEST(SizeSpecTest, ReadsRangesAndLists) {
  EXPECT_EQ(parse_size("n=4:1").values, (Values{1, 2, 3, 4}));
  EXPECT_EQ(parse_size("n=64|16|8").values, (Values{8, 16, 64}));
  EXPECT_EQ(parse_size("n=1|0").values, (Values{0, 1}));
}

TEST(SizeSpecTest, RefusesWhatIsNoSize) {
  EXPECT_USAGE_ERROR(parse_size("n"), "expected NAME=CURRENT:MIN");
  EXPECT_USAGE_ERROR(parse_size("n=2:2"), "below the current one");
  EXPECT_USAGE_ERROR(parse_size("n=2:3"), "below the current one");
  EXPECT_USAGE_ERROR(parse_size("n=8|8"), "falling values");
  EXPECT_USAGE_ERROR(parse_size("n=x:1"), "expected a whole number");
  EXPECT_USAGE_ERROR(parse_size("n=100000:1"), "list the ones to try");
  EXPECT_USAGE_ERROR(parse_size("toggles=2:1"), "reserved");
  EXPECT_USAGE_ERROR(parse_size("1n=2:1"), "got name '1n'");
}

TEST(FixSpecTest, ReadsTheThreeKinds) {
  const CommandFix append = parse_fix("view=--identity view");
  EXPECT_EQ(append.kind, CommandFix::Kind::kAppend);
  EXPECT_EQ(append.text, "--identity view");
  const CommandFix replace = parse_fix("a new view:skip=--identity=view");
  EXPECT_EQ(replace.kind, CommandFix::Kind::kReplace);
  EXPECT_EQ(replace.name, "a new view");
  EXPECT_EQ(replace.where, "skip");
  EXPECT_EQ(replace.text, "--identity=view");
  const CommandFix variable = parse_environment_fix("X=1=2");
  EXPECT_EQ(variable.name, "X=1=2");
  EXPECT_EQ(variable.where, "X");
  EXPECT_EQ(variable.text, "1=2");
  EXPECT_USAGE_ERROR(parse_fix("view="), "nothing to append");
  EXPECT_USAGE_ERROR(parse_fix("-x=1"), "got name '-x'");
  EXPECT_USAGE_ERROR(parse_environment_fix("a-b=1"), "got name 'a-b'");
}

TEST(CommandVariantsTest, TrialSpaceHasSizesAndFixesAtTheirReferenceLast) {
  CommandSpec with = spec();
  with.command = "echo {n} {toggles}";
  with.sizes = {parse_size("n=3:1")};
  with.fixes = {parse_fix("f=--f")};
  const CommandTarget target(with);
  ASSERT_EQ(target.space().switches.size(), 2u);
  ASSERT_EQ(target.trial_space().switches.size(), 4u);
  EXPECT_EQ(target.reference(), (Assignment{1, 1, 2, 1}));
  EXPECT_EQ(target.trial({0, 1}), (Assignment{0, 1, 2, 1}));
  EXPECT_EQ(words(target, {0, 1, 2, 1}),
            (std::vector<std::string>{"echo", "3", "--a", "--b", "0"}));
  EXPECT_EQ(words(target, {1, 0, 0, 0}),
            (std::vector<std::string>{"echo", "1", "--b", "1", "--f"}));
}

TEST(CommandVariantsTest, FixesGoBehindTheTogglesToTheirPlaceOrToTheEnd) {
  CommandSpec with = spec();
  with.fixes = {parse_fix("f=--f 1"), parse_fix("g=--g")};
  with.command = "sh -c 'cmd {toggles} end'";
  EXPECT_EQ(words(CommandTarget(with), {0, 1, 0, 0})[2], "cmd --a --b 0 --f 1 --g end");
  with.command = "echo {fixes} -- {toggles}";
  EXPECT_EQ(words(CommandTarget(with), {1, 1, 1, 0}),
            (std::vector<std::string>{"echo", "--g", "--", "--b", "0"}));
  with.command = "echo {a} {b} x";
  EXPECT_EQ(words(CommandTarget(with), {1, 0, 0, 1}),
            (std::vector<std::string>{"echo", "--b", "1", "x", "--f", "1"}));
}

TEST(CommandVariantsTest, AReplacementConcernsOnlyTrialsInWhichItsToggleIsOn) {
  CommandSpec with = spec();
  with.fixes = {parse_fix("f:b=--b 2"), parse_fix("same:b=--b 1")};
  const CommandTarget target(with);
  EXPECT_TRUE(target.fix_applies(0, target.reported()));
  EXPECT_FALSE(target.fix_applies(0, target.reference()));
  EXPECT_FALSE(target.fix_applies(1, target.reported()));
  EXPECT_EQ(words(target, {0, 0, 0, 1}), (std::vector<std::string>{"echo", "--a", "--b", "2"}));
  with.fixes[0].even_when_off = true;
  EXPECT_TRUE(CommandTarget(with).fix_applies(0, target.reference()));
}

TEST(CommandVariantsTest, AnEnvironmentFixWinsOverTheToggleOfItsVariable) {
  CommandSpec with = spec();
  with.environment_toggles = {"X=1|"};
  with.environment = {{"Y", "0"}};
  with.fixes = {parse_environment_fix("X=2")};
  const CommandTarget target(with);
  EXPECT_EQ(target.shell_line({1, 1, 0, 1}), "env Y=0 X=1 echo --b 0");
  EXPECT_EQ(target.shell_line({1, 1, 0, 0}), "env Y=0 X=2 echo --b 0");
}

TEST(CommandVariantsTest, ASizeOfATogglesNameStandsForItsFirstValue) {
  CommandSpec with = spec();
  with.command = "echo {pp} {toggles}";
  with.toggles.push_back("pp=4|1");
  with.sizes = {parse_size("pp=4:2")};
  const CommandTarget target(with);
  EXPECT_TRUE(target.size_applies(0, {1, 1, 0, 0}));
  EXPECT_FALSE(target.size_applies(0, {1, 1, 1, 0}));
  EXPECT_EQ(words(target, {1, 1, 0, 0})[1], "2");
  EXPECT_EQ(words(target, {1, 1, 1, 0})[1], "1");
  with.sizes = {parse_size("pp=8:2")};
  EXPECT_USAGE_ERROR(CommandTarget{with}, "expected 4, got 8");
}

TEST(CommandVariantsTest, SettingsAreReadByName) {
  CommandSpec with = spec();
  with.command = "echo {n} {toggles}";
  with.sizes = {parse_size("n=3:1")};
  with.fixes = {parse_fix("f=--f")};
  const CommandTarget target(with);
  EXPECT_EQ(target.setting("--set", "b=--b 0"), (Setting{1, 1}));
  EXPECT_EQ(target.setting("--set", "a=off"), (Setting{0, 1}));
  EXPECT_EQ(target.setting("--set", "n=2"), (Setting{2, 1}));
  EXPECT_EQ(target.setting("--set", "f=on"), (Setting{3, 0}));
  EXPECT_USAGE_ERROR(target.setting("--set", "n=7"), "has no value '7'");
}

TEST(CommandVariantsTest, RefusesWhatCanNotBeUsed) {
  CommandSpec with = spec();
  with.sizes = {parse_size("n=3:1")};
  EXPECT_USAGE_ERROR(CommandTarget{with}, "appears in no template");
  with = spec();
  with.fixes = {parse_fix("f=1"), parse_fix("f=2")};
  EXPECT_USAGE_ERROR(CommandTarget{with}, "two fixes are named 'f'");
  with.fixes = {parse_fix("f:c=1")};
  EXPECT_USAGE_ERROR(CommandTarget{with}, "no toggle is named 'c'");
  with.environment_toggles = {"X=1|"};
  with.fixes = {parse_fix("f:X=1")};
  EXPECT_USAGE_ERROR(CommandTarget{with}, "write --env-fix");
}

}  // namespace
}  // namespace culprit
