#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "process/child.hpp"
#include "process/process_runner.hpp"

namespace culprit {
namespace {

void set_variable(std::vector<std::string>& environment, const std::string& name,
                  const std::optional<std::string>& value) {
  std::erase_if(environment, [&](const std::string& entry) {
    return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
  });
  if (value) environment.push_back(name + '=' + *value);
}

std::vector<std::string> environment_for(const ProcessRequest& request) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry; ++entry) result.emplace_back(*entry);
  for (const auto& [name, value] : request.environment) set_variable(result, name, value);
  // Our own driver may itself be a child with a counter: that one is not the grandchild's.
  set_variable(result, kProgressVariable,
               request.stall_deadline ? std::optional(std::to_string(kProgressFd)) : std::nullopt);
  return result;
}

// Milliseconds for poll until `next`, rounded up so that it does not wake before the time.
int poll_timeout(Child::Time next, Child::Time now) {
  if (next == Child::Time::max()) return -1;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(wait, 0, 3'600'000));
}

class Runner {
 public:
  Runner(std::span<const ProcessRequest> requests, const RunOptions& options)
      : requests_(requests), options_(options) {
    if (options.jobs == 0) throw UsageError("[process.run] jobs is 0, expected at least 1");
    // Repeated because were 0, 1 or 2 closed here, a pipe could get that number and be overwritten.
    int fd = -1;
    do {
      fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      if (fd < 0)
        throw SetupError(std::string("[process.run] cannot open /dev/null: ") +
                         std::strerror(errno));
      null_fds_.emplace_back(fd);
    } while (fd <= 2);
  }

  bool run() {
    while (true) {
      while (!is_cancelled_ && next_ < requests_.size() && children_.size() < options_.jobs)
        start_next();
      if (children_.empty()) break;
      wait();
    }
    return !is_cancelled_;
  }

 private:
  void start_next() {
    const std::size_t index = next_++;
    if (options_.on_start) options_.on_start(index);
    children_.push_back(
        std::make_unique<Child>(index, requests_[index], environment_for(requests_[index]),
                                null_fds_.back().get(), static_cast<bool>(options_.on_line)));
    if (!children_.back()->is_running()) finish(children_.size() - 1);
  }

  void finish(std::size_t position) {
    const std::unique_ptr<Child> child = std::move(children_[position]);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(position));
    ProcessResult result = child->finish();
    give_lines(*child);
    if (options_.on_done) options_.on_done(child->index(), std::move(result));
  }

  void give_lines(Child& child) {
    while (const auto line = child.take_line()) options_.on_line(child.index(), *line);
  }

  void wait() {
    Child::Time now = Child::Clock::now();
    Child::Time next = Child::Time::max();
    for (const auto& child : children_) next = std::min(next, child->check(now));
    // Three entries a child, then the cancellation; poll skips negative descriptors.
    poll_.clear();
    for (const auto& child : children_)
      for (const int fd : {child->out_fd(), child->err_fd(), child->exit_fd()})
        poll_.push_back({fd, POLLIN, 0});
    poll_.push_back({is_cancelled_ ? -1 : options_.cancel_fd, POLLIN, 0});
    if (::poll(poll_.data(), poll_.size(), poll_timeout(next, now)) < 0 && errno != EINTR)
      throw SetupError(std::string("[process.run] poll: ") + std::strerror(errno));

    now = Child::Clock::now();
    if (poll_.back().revents != 0) {
      is_cancelled_ = true;
      for (const auto& child : children_) child->kill(ProcessEnd::kCancelled, now);
    }
    // Backwards, since finish() removes; output before the end, so that the last words are read.
    for (std::size_t i = children_.size(); i-- > 0;) {
      if (poll_[3 * i].revents != 0) {
        children_[i]->read_out();
        give_lines(*children_[i]);
      }
      if (poll_[3 * i + 1].revents != 0) children_[i]->read_err();
      if (poll_[3 * i + 2].revents != 0 || children_[i]->is_given_up()) finish(i);
    }
  }

  std::span<const ProcessRequest> requests_;
  const RunOptions& options_;
  std::vector<UniqueFd> null_fds_;
  std::vector<std::unique_ptr<Child>> children_;
  std::vector<struct pollfd> poll_;
  std::size_t next_ = 0;
  bool is_cancelled_ = false;
};

}  // namespace

bool run_processes(std::span<const ProcessRequest> requests, const RunOptions& options) {
  return Runner(requests, options).run();
}

ProcessResult run_process(const ProcessRequest& request) {
  ProcessResult only;
  RunOptions options;
  options.on_done = [&](std::size_t, ProcessResult&& result) { only = std::move(result); };
  run_processes({&request, 1}, options);
  return only;
}

std::string describe(const ProcessResult& result) {
  switch (result.end) {
    case ProcessEnd::kExited:
      return "exit status " + std::to_string(result.value);
    case ProcessEnd::kSignalled: {
      const char* name = ::sigabbrev_np(result.value);
      return "signal " + std::to_string(result.value) +
             (name ? std::string(" (SIG") + name + ")" : "");
    }
    case ProcessEnd::kDeadline:
      return "killed at its deadline";
    case ProcessEnd::kStalled:
      return "killed: no progress and no output";
    case ProcessEnd::kCancelled:
      return "cancelled";
    case ProcessEnd::kCannotStart:
      return result.error;
  }
  return "?";
}

}  // namespace culprit
