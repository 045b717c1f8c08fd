// Pieces of the shell evaluator on their own: arithmetic, patterns, joining of values.
#include <map>

#include "gtest/gtest.h"
#include "launch/shell_arith.hpp"
#include "launch/shell_value.hpp"

namespace culprit::launch::shell {
namespace {

std::optional<std::int64_t> arith(std::string_view text) {
  std::map<std::string, std::int64_t> variables = {{"a", 6}, {"b", 4}};
  ArithContext context;
  context.lookup = [&](const std::string& name) -> std::optional<std::int64_t> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  context.assign = [&](const std::string& name, std::optional<std::int64_t> value) {
    if (value)
      variables[name] = *value;
    else
      variables.erase(name);
  };
  return evaluate_arith(text, context);
}

TEST(ShellArith, Values) {
  EXPECT_EQ(arith("1 + 2 * 3"), 7);
  EXPECT_EQ(arith("(1+2)*3"), 9);
  EXPECT_EQ(arith("a / b"), 1);
  EXPECT_EQ(arith("a % b ** 2"), 6);
  EXPECT_EQ(arith("2 ** 3 ** 2"), 512);
  EXPECT_EQ(arith("a > b ? 10 : 20"), 10);
  EXPECT_EQ(arith("a++ + a"), 13);
  EXPECT_EQ(arith("a += 2, a"), 8);
  EXPECT_EQ(arith("!a || -b == -4"), 1);
  EXPECT_EQ(arith("0x10 + 010"), 24);
  EXPECT_EQ(arith("1 << 4 | 1"), 17);
}

TEST(ShellArith, UnknownIsNotGuessed) {
  EXPECT_EQ(arith("unset + 1"), std::nullopt);
  EXPECT_EQ(arith("1 / 0"), std::nullopt);
  EXPECT_EQ(arith("9223372036854775807 + 1"), std::nullopt);
  EXPECT_EQ(arith("1 +"), std::nullopt);
  EXPECT_EQ(arith(""), std::nullopt);
  EXPECT_EQ(arith(std::string(4000, '(')), std::nullopt);
}

TEST(ShellGlob, Patterns) {
  EXPECT_TRUE(glob_match("a*c", "abbc"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("[a-c]?", "bz"));
  EXPECT_TRUE(glob_match("[!x]*", "y"));
  EXPECT_TRUE(glob_match("\\*", "*"));
  EXPECT_TRUE(glob_match("[", "["));
  EXPECT_FALSE(glob_match("a*c", "abd"));
  EXPECT_FALSE(glob_match("\\*", "x"));
  EXPECT_FALSE(glob_match(std::string(200, '*') + "b", std::string(4000, 'a')));
}

TEST(ShellValue, JoinKeepsWhatIsCommon) {
  GapTable gaps;
  const Value gap = gaps.make({Gap::Kind::kUnknown, 3, "$X", "why"});
  const Value joined = join(literal("--a 1 --b"), literal("--a 1 --c 2 --b"), gap);
  EXPECT_EQ(joined.text, std::string("--a 1 --") + '\0' + "b");
  EXPECT_TRUE(join(literal("x"), literal("x"), gap).same_as(literal("x")));
  EXPECT_NE(gaps.first_unknown(joined), nullptr);
}

}  // namespace
}  // namespace culprit::launch::shell
