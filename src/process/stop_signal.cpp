#include "process/stop_signal.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/error.hpp"

namespace culprit {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<int> caught_signal{0};
std::atomic<int> wake_fd{-1};
constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> previous_actions;

void handle(int number) {
  const int saved_errno = errno;
  int none = 0;
  caught_signal.compare_exchange_strong(none, number);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd.load(), &one, sizeof one);
  for (const int each : kSignals) ::signal(each, SIG_DFL);
  errno = saved_errno;
}

}  // namespace

StopSignal::StopSignal() {
  if (wake_fd.load() >= 0) throw std::logic_error("[process.stop_signal] a second StopSignal");
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0)
    throw SetupError(std::string("[process.stop_signal] eventfd: ") + std::strerror(errno));
  caught_signal = 0;
  wake_fd = fd;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous_actions[i]);
    if (previous_actions[i].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handle;
    ::sigfillset(&action.sa_mask);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &previous_actions[i], nullptr);
  ::close(wake_fd.exchange(-1));
}

int StopSignal::signal() const { return caught_signal.load(); }
int StopSignal::fd() const { return wake_fd.load(); }

}  // namespace culprit
