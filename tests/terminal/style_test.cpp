#include "terminal/style.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "terminal/terminal.hpp"
#include "terminal_test_support.hpp"

namespace culprit {
namespace {

constexpr Tone kTones[] = {Tone::kPass,    Tone::kFail,   Tone::kSilent,
                           Tone::kUnknown, Tone::kStrong, Tone::kDim};

TEST(StyleTest, SymbolsTellTonesApartWithoutColour) {
  for (bool has_utf8 : {false, true}) {
    std::set<std::string> symbols;
    for (Tone tone : kTones) symbols.insert(std::string(Style(false, has_utf8).symbol(tone)));
    EXPECT_EQ(symbols.size(), std::size(kTones));
  }
  for (Tone tone : kTones) EXPECT_EQ(Style().symbol(tone).size(), 1u);
}

TEST(StyleTest, PaintsOnlyWithColour) {
  EXPECT_EQ(Style(false, false).mark(Tone::kFail, "text"), "x text");
  EXPECT_EQ(Style(true, false).mark(Tone::kFail, "text"), "\x1b[31mx text\x1b[0m");
  EXPECT_EQ(Style(true, true).paint(Tone::kPass, "a"), "\x1b[32ma\x1b[0m");
}

TEST(TerminalTest, ColourFollowsTheEnvironment) {
  PseudoTerminal terminal(80);
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  ScopedVariable no_colour("NO_COLOR", nullptr);
  ScopedVariable force("CLICOLOR_FORCE", nullptr);
  ScopedVariable cli("CLICOLOR", nullptr);
  ScopedVariable term("TERM", "xterm");
  EXPECT_TRUE(wants_colour(terminal.fd()));
  EXPECT_FALSE(wants_colour(fds[1]));
  {
    ScopedVariable set("CLICOLOR_FORCE", "1");
    EXPECT_TRUE(wants_colour(fds[1]));
    ScopedVariable wins("NO_COLOR", "1");
    EXPECT_FALSE(wants_colour(fds[1]));
    EXPECT_FALSE(wants_colour(terminal.fd()));
    ScopedVariable empty("NO_COLOR", "");  // empty does not count
    EXPECT_TRUE(wants_colour(fds[1]));
    ScopedVariable zero("CLICOLOR_FORCE", "0");
    EXPECT_FALSE(wants_colour(fds[1]));
  }
  {
    ScopedVariable dumb("TERM", "dumb");
    EXPECT_FALSE(wants_colour(terminal.fd()));
  }
  ScopedVariable off("CLICOLOR", "0");
  EXPECT_FALSE(wants_colour(terminal.fd()));
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(TerminalTest, WidthComesFromTheTerminalThenColumnsThen80) {
  PseudoTerminal terminal(33);
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  ScopedVariable columns("COLUMNS", "50");
  EXPECT_EQ(terminal_columns(terminal.fd()), 33);
  EXPECT_EQ(terminal_columns(fds[1]), 50);
  for (const char* bad : {"", "0", "-5", "x", "99999999"}) {
    ScopedVariable wrong("COLUMNS", bad);
    EXPECT_EQ(terminal_columns(fds[1]), 80) << bad;
  }
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST(TerminalTest, LocaleDecidesOnUtf8) {
  ScopedVariable all("LC_ALL", nullptr);
  ScopedVariable ctype("LC_CTYPE", nullptr);
  ScopedVariable lang("LANG", "de_DE.UTF-8");
  EXPECT_TRUE(is_utf8_locale());
  ScopedVariable c("LC_ALL", "C");
  EXPECT_FALSE(is_utf8_locale());
  ScopedVariable utf8("LC_ALL", "C.utf8");
  EXPECT_TRUE(is_utf8_locale());
}

}  // namespace
}  // namespace culprit
