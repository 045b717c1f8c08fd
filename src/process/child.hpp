// One running child of process_runner: its descriptors, its deadlines, and what it wrote so far.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>

#include "process/process_runner.hpp"
#include "process/progress_counter.hpp"
#include "process/unique_fd.hpp"

namespace culprit {

class Child {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  // Starts `request` (kept by reference). Whether it could start tells is_running().
  // Throws SetupError where the system has no descriptors, processes or memory left.
  Child(std::size_t index, const ProcessRequest& request,
        const std::vector<std::string>& environment, int null_fd, bool keep_lines);
  // Kills and reaps it when it is still running.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::size_t index() const { return index_; }
  bool is_running() const { return pid_ > 0; }
  int exit_fd() const { return pidfd_.get(); }  // readable once the child has ended
  int out_fd() const { return out_.get(); }     // -1 once closed
  int err_fd() const { return err_.get(); }

  // After poll: at most one buffer full.
  void read_out() { read_some(out_, out_capture_, &out_lines_); }
  void read_err() { read_some(err_, err_capture_, nullptr); }
  // The next whole line of stdout that has not been taken yet.
  std::optional<std::string> take_line();
  // Acts on whatever is due; returns when to look again, Time::max() for never.
  Time check(Time now);
  // Begins to kill it, for that reason; does nothing when a kill is under way.
  void kill(ProcessEnd reason, Time now);
  // Reaps a child that has ended, or gives up on one that SIGKILL does not end (asleep in the
  // kernel). Kills what is left of its group.
  ProcessResult finish();
  bool is_given_up() const { return is_given_up_; }

 private:
  bool read_some(UniqueFd& fd, Capture& capture, std::string* lines);
  void drain(UniqueFd& fd, Capture& capture, std::string* lines);

  std::size_t index_;
  const ProcessRequest& request_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd out_;
  UniqueFd err_;
  Capture out_capture_;
  Capture err_capture_;
  std::string out_lines_;  // not taken yet; kept only where the request's lines are asked for
  std::optional<ProgressCounter> progress_;
  std::uint64_t seen_ticks_ = 0;
  Time start_;
  Time last_activity_;
  std::optional<ProcessEnd> kill_reason_;
  Time kill_time_ = Time::max();     // when SIGKILL follows
  Time give_up_time_ = Time::max();  // when we stop waiting for the kernel
  bool is_given_up_ = false;
  bool keep_lines_ = false;
  int start_error_ = 0;
  std::string start_message_;
};

}  // namespace culprit
