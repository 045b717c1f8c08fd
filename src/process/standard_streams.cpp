#include "process/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace culprit {

void open_missing_standard_streams() {
  // open() takes the lowest free number, so the closed ones are filled in order.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
}

void print_error(const std::string& text) noexcept { std::fputs(text.c_str(), stderr); }

void flush_standard_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw SetupError(std::string("standard output: can't be written: ") + std::strerror(errno));
}

}  // namespace culprit
