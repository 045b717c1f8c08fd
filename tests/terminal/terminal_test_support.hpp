// A pseudo terminal, and environment variables that are restored.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace culprit {

class PseudoTerminal {
 public:
  explicit PseudoTerminal(unsigned short columns) {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ::grantpt(master_);
    ::unlockpt(master_);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    struct termios mode {};
    ::tcgetattr(slave_, &mode);
    ::cfmakeraw(&mode);
    ::tcsetattr(slave_, TCSANOW, &mode);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    resize(columns);
  }
  ~PseudoTerminal() {
    ::close(slave_);
    ::close(master_);
  }
  void resize(unsigned short columns) {
    struct winsize size {};
    size.ws_col = columns;
    size.ws_row = 24;
    ::ioctl(slave_, TIOCSWINSZ, &size);
  }
  int fd() const { return slave_; }
  // What was written since the last call.
  std::string written() {
    char buffer[4096];
    const ssize_t got = ::read(master_, buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }

 private:
  int master_ = -1;
  int slave_ = -1;
};

class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {  // null: unset
    if (const char* old = std::getenv(name)) before_ = old;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~ScopedVariable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace culprit
