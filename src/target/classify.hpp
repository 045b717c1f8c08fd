// How a finished process is judged: process result -> trial with a fingerprint. docs/commands.md
// has the table.
#pragma once

#include <span>
#include <string>

#include "isolate/space.hpp"
#include "process/process_runner.hpp"
#include "target/outcome_line.hpp"
#include "target/output_pattern.hpp"
#include "target/tensor_dump.hpp"

namespace culprit {

struct JudgedRun {
  Trial trial;
  TrialCost cost;    // as the program's outcome line states it; empty without one
  std::string note;  // for people, one line: how it ended and the program's own words; not stable
};

// What decides beside the process itself.
struct JudgeRules {
  std::span<const OutputPattern> patterns;
  bool has_error_lines = true;
  // Exit statuses that say nothing, beside 77, 125, 126 and 127.
  std::span<const int> unresolved_statuses;
};

// By the first that applies: could not be started, or an exit status that says nothing: unresolved;
// a pattern that matches: MATCH:NAME; the project's outcome line: its fingerprint (a passing one
// only with exit status 0); a signal: SIGNAL:SEGV; a deadline: HANG:deadline or HANG:stalled;
// another exit status than 0: EXIT:STATUS, with `has_error_lines` and the masked error line where
// there is one; else a pass. A cancelled process is unresolved.
JudgedRun classify(const ProcessResult& result, const JudgeRules& rules);

// True for a failure that raises nothing: a dump that deviates, or an outcome line's class that is
// silent (WRONG_GRAD and the like).
bool is_silent(const std::string& fingerprint);

// Goes on with a run that passed so far: compares its dump with the reference run's.
// DUMP:differs:NAME and the like for the first bad tensor, DUMP:none where no file was written,
// unresolved where it can't be read.
void judge_dump(const std::string& path, const Dump& reference, const DumpTolerance& tolerance,
                JudgedRun& run);

}  // namespace culprit
