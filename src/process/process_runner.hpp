// Runs child processes, several at a time, each with deadlines, and says how each ended. Requests
// -> results, in the order in which they end. A child that crashes, hangs or floods costs only
// itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "process/capture.hpp"

namespace culprit {

struct ProcessRequest {
  using Milliseconds = std::chrono::milliseconds;

  std::vector<std::string> argv;  // argv[0] is looked up in the child's PATH; no shell is involved
  // Changes to the inherited environment, applied in order: a value sets the variable, nullopt
  // unsets it.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  std::string input;                     // what the child reads from stdin; empty: /dev/null
  std::string directory;                 // empty: this process's working directory
  std::optional<Milliseconds> deadline;  // from its start
  std::optional<Milliseconds>
      stall_deadline;  // without a tick (progress_counter.hpp) and without output
  std::size_t capture_limit_bytes = 1 << 20;  // of each of stdout and stderr
  Milliseconds kill_grace{500};               // between SIGTERM and SIGKILL
};

enum class ProcessEnd {
  kExited,       // value is the exit status
  kSignalled,    // value is the signal, which was not sent from here
  kDeadline,     // killed: the deadline passed
  kStalled,      // killed: no tick and no output during the stall deadline
  kCancelled,    // killed: RunOptions::cancel_fd became readable
  kCannotStart,  // value is the errno, error the text
};

struct ProcessResult {
  ProcessEnd end = ProcessEnd::kCannotStart;
  int value = 0;
  std::string error;  // only for kCannotStart: what was tried and why it failed
  CapturedText out;
  CapturedText err;
  double wall_seconds = 0;
  // Largest resident set of the child and the children that it reaped, in bytes. Linux counts from
  // the fork, so small children show the size of this process instead.
  std::int64_t max_rss_bytes = 0;
  std::uint64_t ticks = 0;  // final progress count; 0 without a stall deadline
};

struct RunOptions {
  std::size_t jobs = 1;  // at most so many children at a time; at least 1
  // Called in the calling thread right before a child is started.
  std::function<void(std::size_t index)> on_start;
  // Called in the calling thread as soon as a child has ended; also for kCannotStart and
  // kCancelled. While it runs, children go on, and no deadline is acted upon. What it throws kills
  // all children and passes on.
  std::function<void(std::size_t index, ProcessResult&& result)> on_done;
  // Called in the calling thread for each line of a child's stdout, without its newline, as it
  // comes (one beyond 4 MiB in pieces; one that was never ended is not given); all of them before
  // on_done. Lines are captured as well.
  std::function<void(std::size_t index, std::string_view line)> on_line;
  int cancel_fd =
      -1;  // once readable, running children are killed and no more are started; not read here
};

// True when every request ran, false when it was cancelled (requests that were not started get no
// call). Each child leads a process group of its own; when the child
// ends, or at a deadline, what is left of the group is killed (SIGTERM, then after the grace
// SIGKILL; a child that ended itself: SIGKILL at once), so nothing in a group outlives its request.
// A descendant that left the group and holds the output open is not waited for. When this process
// or thread dies, the child (not its descendants) gets SIGKILL. Uses the calling thread only.
// Throws UsageError for jobs = 0, SetupError where the system has no descriptors or memory left for
// another child.
bool run_processes(std::span<const ProcessRequest> requests, const RunOptions& options);

// One request, waited for.
ProcessResult run_process(const ProcessRequest& request);

// "exit status 3", "signal 11 (SIGSEGV)", "deadline", ... for messages.
std::string describe(const ProcessResult& result);

}  // namespace culprit
