// Runs the trials that a search asks for as processes of a command target, through a journal: glue
// between CommandTarget, run_processes, classify and Journal.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "isolate/space.hpp"
#include "process/process_runner.hpp"
#include "target/classify.hpp"
#include "target/command_target.hpp"
#include "target/journal.hpp"

namespace culprit {

// The deadline of a trial without --timeout: ten times the slowest passing run so far, at least 10
// s. The reference run, the first one, has an hour.
inline constexpr std::chrono::seconds kMinTimeout{10};
inline constexpr int kTimeoutFactor = 10;
inline constexpr std::chrono::hours kReferenceTimeout{1};

// One trial that ran (not one answered from the journal).
struct FinishedTrial {
  const Assignment& assignment;
  const Trial& trial;
  const ProcessResult& result;
  const std::string& note;
};

struct CommandRunnerOptions {
  std::size_t jobs = 1;
  int cancel_fd = -1;  // RunOptions::cancel_fd, as of a StopSignal
  // Existing folder for dumps, kept for a resumed run; holds reference-dump. Needed only for a
  // target with a dump.
  std::string work_directory;
  std::function<void(const FinishedTrial&)> on_trial;  // in the caller's thread; may be empty
};

// An Evaluate for the search. Each trial is in the journal before and after it runs; a trial that
// the journal has (the n-th run of an assignment answers the n-th time that it is asked for) is not
// run again. A cancelled batch gives the results up to the first missing one, which is how the
// search learns of the end. The first call first runs the reference (all off) unless the journal
// has it: when it does not pass, UsageError with the end of what it printed. Throws UsageError for
// jobs 0, jobs above 1 with a fixed dump file or a missing work directory; SetupError of the
// journal and of run_processes. `target` and `journal` must outlive the function.
Evaluate make_evaluate(const CommandTarget& target, Journal& journal, CommandRunnerOptions options);

// One run of one assignment, outside any journal (`culprit check`). With a dump, the reference is
// run first. Unresolved when cancelled.
JudgedRun run_trial(const CommandTarget& target, const Assignment& assignment,
                    const CommandRunnerOptions& options);

}  // namespace culprit
