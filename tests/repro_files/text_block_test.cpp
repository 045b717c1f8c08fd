#include "repro_files/text_block.hpp"

#include <stdexcept>

#include "gtest/gtest.h"

namespace culprit {
namespace {

Traits traits(bool tp, bool pp) {
  Traits is;
  is.set("tp", tp);
  is.set("pp", pp);
  return is;
}

TEST(RenderTest, KeepsLinesWhoseConditionHolds) {
  const char* block = "\n%tp% one\n%!tp% two\n%tp&pp% three\n%tp&!pp|pp&!tp%   four\nfive\n";
  EXPECT_EQ(render(block, traits(true, true), {}), "one\nthree\nfive\n");
  EXPECT_EQ(render(block, traits(true, false), {}), "one\n  four\nfive\n");
  EXPECT_EQ(render(block, traits(false, false), {}), "two\nfive\n");
}
TEST(RenderTest, PutsInValues) {
  EXPECT_EQ(render("a = $A$$B$ + 1", {}, {{"A", "x"}, {"B", ""}}), "a = x + 1\n");
}
TEST(RenderTest, IndentsAValueOfSeveralLinesAndDropsAnEmptyOne) {
  EXPECT_EQ(render("if:\n    $BODY$\n$NONE$\nend", {}, {{"BODY", "x\n\ny"}, {"NONE", ""}}),
            "if:\n    x\n\n    y\nend\n");
}
TEST(RenderTest, MisspeltNamesAreErrorsOfOurs) {
  EXPECT_THROW(render("%tq% x", traits(true, true), {}), std::logic_error);
  EXPECT_THROW(render("$X$", {}, {}), std::logic_error);
}

TEST(QuotedTest, LeavesNothingThatEndsTheLiteral) {
  EXPECT_EQ(source_string("a\"b\\c\nd\x01"
                   "2"),
            "\"a\\\"b\\\\c\\012d\\0012\"");
}
TEST(InCommentTest, LeavesNoLineEndsOrDirectionalMarks) {
  const std::string text = in_comment("a\nimport os\r\xE2\x80\xAE\x1b[2J");
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
}

}  // namespace
}  // namespace culprit
