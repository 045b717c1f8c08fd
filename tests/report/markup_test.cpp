#include "report/markup.hpp"

#include "gtest/gtest.h"

namespace culprit {
namespace {

TEST(MarkupTest, MarkupBecomesText) {
  const std::string hostile = "<img src=x onerror=\"a('&')\">";
  EXPECT_EQ(xml_text(hostile), "&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;");
  EXPECT_EQ(markdown_text("<b>&"), "&lt;b&gt;&amp;");
}
TEST(MarkupTest, MarkdownMentionsLinksTablesAndCodeBecomeText) {
  EXPECT_EQ(markdown_text("@team [x](y) a|b `c` **d** #1"),
            "\\@team \\[x\\]\\(y\\) a\\|b \\`c\\` \\*\\*d\\*\\* \\#1");
}
TEST(MarkupTest, ControlCharactersBecomeVisible) {
  EXPECT_EQ(xml_text(std::string("a\x1b[31m\0b", 8)), "a\\x1B[31m\\x00b");
  EXPECT_EQ(markdown_text("a\nb"), "a\\\\nb");
}

}  // namespace
}  // namespace culprit
