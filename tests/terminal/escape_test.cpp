#include "terminal/escape.hpp"

#include <gtest/gtest.h>

namespace culprit {
namespace {

TEST(EscapeTest, MakesControlsVisible) {
  EXPECT_EQ(escape_controls("a\x1b[31mred\x07\x7f\0z"), "a\\x1B[31mred\\x07\\x7F");
  EXPECT_EQ(escape_controls(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escape_controls("a\tb\r\n"), "a\\tb\\r\\n");
  EXPECT_EQ(escape_controls_keep_lines("a\nb\r\n"), "a\nb\\r\n");
  EXPECT_EQ(escape_controls("\u009b31m \u202e \u2066 \u2028"),
            "\\u{009B}31m \\u{202E} \\u{2066} \\u{2028}");
}

TEST(EscapeTest, KeepsReadableText) {
  EXPECT_EQ(escape_controls("C:\\x \u00e4 \u4e2d \U0001F600"), "C:\\x \u00e4 \u4e2d \U0001F600");
}

TEST(EscapeTest, MakesBytesThatAreNotUtf8Visible) {
  EXPECT_EQ(escape_controls("\xff"), "\\xFF");
  EXPECT_EQ(escape_controls("\xc0\xaf"), "\\xC0\\xAF");           // overlong
  EXPECT_EQ(escape_controls("\xed\xa0\x80"), "\\xED\\xA0\\x80");  // surrogate
  EXPECT_EQ(escape_controls("\xe4\xb8"), "\\xE4\\xB8");           // cut off
  EXPECT_EQ(escape_controls("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
  EXPECT_EQ(escape_controls("\x9b"), "\\x9B");
}

TEST(EscapeTest, MeasuresColumns) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("\u00e4"), 1);
  EXPECT_EQ(display_width("\u4e2d\u6587"), 4);
  EXPECT_EQ(display_width("e\u0301"), 1);
}

TEST(EscapeTest, CutsBetweenCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 5), "ab...");
  EXPECT_EQ(cut_to_width("abcdef", 3), "abc");
  EXPECT_EQ(cut_to_width("abcdef", 0), "");
  EXPECT_EQ(cut_to_width("\u4e2d\u6587\u4e2d", 5), "\u4e2d...");
  EXPECT_EQ(cut_to_width("\u4e2d\u6587", 3), "\u4e2d");
}

}  // namespace
}  // namespace culprit
