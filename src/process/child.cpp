#include "process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "process/spawn.hpp"
#include "process/write_all.hpp"

namespace culprit {
namespace {

// How long a child may take to die of SIGKILL. Longer means asleep in the kernel (a lost network
// file system, a driver): waiting for it would hang the harness.
constexpr std::chrono::seconds kGiveUpAfter{10};
// What a descendant that holds the pipe may still write after the child's end before we stop
// listening.
constexpr std::size_t kDrainLimitBytes = 4 << 20;
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kLongestLineBytes = 4 << 20;

[[noreturn]] void throw_errno(const char* what, int error) {
  throw SetupError(std::string("[process.run] ") + what + ": " + std::strerror(error));
}

std::pair<UniqueFd, UniqueFd> open_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  std::pair<UniqueFd, UniqueFd> ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);  // our end only: a child expects blocking output
  return ends;
}

// A file in memory that holds `text`, to be read from its start.
UniqueFd open_text(const std::string& text) {
  UniqueFd fd(::memfd_create("culprit input", MFD_CLOEXEC));
  if (!fd) throw_errno("cannot make a file in memory", errno);
  if (!write_all(fd.get(), text)) throw_errno("cannot write a file in memory", errno);
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

std::string start_failure_text(const ProcessRequest& request, const Spawned& spawned) {
  const std::string reason = std::strerror(spawned.error);
  if (std::string_view(spawned.step) == "chdir")
    return "cannot enter '" + request.directory + "': " + reason;
  return "cannot start '" + (request.argv.empty() ? std::string() : request.argv[0]) +
         "': " + reason;
}

}  // namespace

Child::Child(std::size_t index, const ProcessRequest& request,
             const std::vector<std::string>& environment, int null_fd, bool keep_lines)
    : index_(index),
      request_(request),
      out_capture_(request.capture_limit_bytes),
      err_capture_(request.capture_limit_bytes),
      start_(Clock::now()),
      last_activity_(start_),
      keep_lines_(keep_lines) {
  auto [out_read, out_write] = open_pipe();
  auto [err_read, err_write] = open_pipe();
  const UniqueFd input = request.input.empty() ? UniqueFd() : open_text(request.input);
  SpawnFds fds{input ? input.get() : null_fd, out_write.get(), err_write.get(), -1};
  if (request.stall_deadline) {
    progress_.emplace(ProgressCounter::create());
    fds.progress_fd = progress_->fd();
  }
  const Spawned spawned = spawn_process(request.argv, environment, request.directory, fds);
  if (spawned.pid < 0) {
    // Running out of processes or descriptors says nothing about the command.
    if (std::string_view(spawned.step) == "fork")
      throw_errno("cannot make a process", spawned.error);
    start_error_ = spawned.error;
    start_message_ = start_failure_text(request, spawned);
    return;
  }
  pid_ = spawned.pid;
  out_ = std::move(out_read);
  err_ = std::move(err_read);
  pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) {
    const int error = errno;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    throw_errno("cannot watch a process (pidfd_open needs Linux 5.3)", error);
  }
}

Child::~Child() {
  if (!is_running() || is_given_up_) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Child::read_some(UniqueFd& fd, Capture& capture, std::string* lines) {
  static thread_local char buffer[kReadBytes];
  const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
  if (got < 0) return false;  // EAGAIN, EINTR: poll again
  if (got == 0) {
    fd.reset();
    return false;
  }
  capture.append({buffer, static_cast<std::size_t>(got)});
  if (lines && keep_lines_) lines->append(buffer, static_cast<std::size_t>(got));
  last_activity_ = Clock::now();
  return true;
}

std::optional<std::string> Child::take_line() {
  const std::size_t newline = out_lines_.find('\n');
  const bool is_whole = newline != std::string::npos;
  if (!is_whole && out_lines_.size() < kLongestLineBytes) return std::nullopt;
  std::string line = out_lines_.substr(0, newline);
  out_lines_.erase(0, is_whole ? newline + 1 : newline);
  return line;
}

void Child::drain(UniqueFd& fd, Capture& capture, std::string* lines) {
  for (std::size_t bytes = 0; fd && bytes < kDrainLimitBytes && read_some(fd, capture, lines);
       bytes += kReadBytes) {
  }
  fd.reset();
}

Child::Time Child::check(Time now) {
  if (kill_reason_) {
    if (now >= give_up_time_) is_given_up_ = true;
    if (now >= kill_time_) {
      ::kill(-pid_, SIGKILL);
      kill_time_ = Time::max();
      give_up_time_ = now + kGiveUpAfter;
    }
    return std::min(kill_time_, give_up_time_);
  }
  Time next = Time::max();
  if (request_.deadline) {
    const Time due = start_ + *request_.deadline;
    if (now >= due) {
      kill(ProcessEnd::kDeadline, now);
      return kill_time_;
    }
    next = due;
  }
  if (request_.stall_deadline) {
    const std::uint64_t ticks = progress_->read();
    if (ticks != seen_ticks_) last_activity_ = std::max(last_activity_, now);
    seen_ticks_ = ticks;
    const Time due = last_activity_ + *request_.stall_deadline;
    if (now >= due) {
      kill(ProcessEnd::kStalled, now);
      return kill_time_;
    }
    // Nothing wakes us at a tick, so look ten times in a period: a hang is found at most 10 % late.
    const auto sample =
        std::max<Clock::duration>(*request_.stall_deadline / 10, std::chrono::milliseconds(5));
    next = std::min({next, due, now + sample});
  }
  return next;
}

void Child::kill(ProcessEnd reason, Time now) {
  if (kill_reason_) return;
  kill_reason_ = reason;
  kill_time_ = now + request_.kill_grace;
  ::kill(-pid_, SIGTERM);
  ::kill(-pid_, SIGCONT);  // a stopped process would not see the SIGTERM
}

ProcessResult Child::finish() {
  ProcessResult result;
  if (!is_running()) {
    result.value = start_error_;
    result.error = start_message_;
    return result;
  }
  // The group's id stays ours until the leader is reaped, so nobody else can be hit.
  ::kill(-pid_, SIGKILL);
  drain(out_, out_capture_, &out_lines_);
  drain(err_, err_capture_, nullptr);
  int status = 0;
  struct rusage usage {};
  if (!is_given_up_) {
    while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  const bool is_signal = WIFSIGNALED(status);
  result.end = kill_reason_.value_or(is_signal ? ProcessEnd::kSignalled : ProcessEnd::kExited);
  if (!kill_reason_) result.value = is_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  result.out = out_capture_.take();
  result.err = err_capture_.take();
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  result.max_rss_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  if (progress_) result.ticks = progress_->read();
  return result;
}

}  // namespace culprit
