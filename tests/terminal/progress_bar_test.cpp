#include "terminal/progress_bar.hpp"

#include <gtest/gtest.h>

#include "terminal/escape.hpp"
#include "terminal_test_support.hpp"

namespace culprit {
namespace {

using std::chrono::milliseconds;

class ProgressBarTest : public testing::Test {
 protected:
  ProgressBar::Options options() {
    ProgressBar::Options result;
    result.now = [this] { return now_; };
    return result;
  }
  ScopedVariable term_{"TERM", "xterm"};
  ProgressBar::Time now_{};
};

TEST_F(ProgressBarTest, DrawsInPlaceAndClearsItself) {
  PseudoTerminal terminal(80);
  {
    ProgressBar bar(terminal.fd(), 10, "cells", options());
    bar.update(5, "skip + recompute");
    EXPECT_EQ(terminal.written(), "\rcells 5/10 [##########..........]  skip + recompute\x1b[K");
  }
  EXPECT_EQ(terminal.written(), "\r\x1b[K");
}

TEST_F(ProgressBarTest, LimitsItsRateButShowsTheEnd) {
  PseudoTerminal terminal(80);
  ProgressBar bar(terminal.fd(), 3, "", options());
  bar.update(0);
  EXPECT_NE(terminal.written(), "");
  now_ += milliseconds(99);
  bar.update(1);
  EXPECT_EQ(terminal.written(), "");
  now_ += milliseconds(1);
  bar.update(2);
  EXPECT_NE(terminal.written(), "");
  bar.update(3);
  EXPECT_NE(terminal.written(), "");
}

TEST_F(ProgressBarTest, NeverFillsTheLineAndFollowsResizing) {
  PseudoTerminal terminal(200);
  ProgressBar bar(terminal.fd(), 100, "isolating", options());
  for (int columns : {200, 80, 40, 39, 38, 20, 17, 12, 5, 3, 2, 1}) {
    terminal.resize(static_cast<unsigned short>(columns));
    now_ += milliseconds(1000);
    bar.update(42,
               "a note that is long enough to be cut \u4e2d\u6587 and more than that and more "
               "again and so on");
    std::string line = terminal.written();
    ASSERT_TRUE(line.starts_with("\r") && line.ends_with("\x1b[K"));
    line = line.substr(1, line.size() - 4);
    EXPECT_LT(display_width(line), columns);
    if (columns >= 7) {
      EXPECT_NE(line.find("42/100"), std::string::npos) << columns;
    }
  }
}

TEST_F(ProgressBarTest, EscapesTheNote) {
  PseudoTerminal terminal(80);
  ProgressBar bar(terminal.fd(), 0, "", options());
  bar.update(1, "a\x1b[2J\nb");
  EXPECT_EQ(terminal.written(), "\r1  a\\x1B[2J\\nb\x1b[K");
}

TEST_F(ProgressBarTest, WritesNothingElsewhere) {
  int fds[2];
  ASSERT_EQ(::pipe(fds), 0);
  {
    ProgressBar bar(fds[1], 2, "cells", options());
    bar.update(1);
  }
  ::close(fds[1]);
  char byte = 0;
  EXPECT_EQ(::read(fds[0], &byte, 1), 0);
  ::close(fds[0]);
  ScopedVariable dumb("TERM", "dumb");
  PseudoTerminal terminal(80);
  ProgressBar bar(terminal.fd(), 2, "cells", options());
  bar.update(1);
  EXPECT_EQ(terminal.written(), "");
}

}  // namespace
}  // namespace culprit
