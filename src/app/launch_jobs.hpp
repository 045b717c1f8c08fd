// From a launch script's mapping to the jobs that are run for it.
#pragma once

#include <string>
#include <vector>

#include "config/cell.hpp"
#include "launch/launch_mapping.hpp"
#include "report/run_record.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

struct LaunchJob {
  std::string title;
  Cell pinned;
  bool with_recompute = false;
};

// Fills in the sizes (tp, pp, acc) that the script leaves unknown with those of the command line.
// Errors: UsageError when a size is said that the script says, missing on both sides (naming the
// line where it is not known), or out of range.
void complete_sizes(launch::LaunchMapping& mapping, const Settings& given);

// The job as the released layers run it and as layers do that hand the flag to the identity
// operator themselves (docs/semantics.md, rule 19): two jobs where the script asks for asynchronous
// all-reduce (or it is not known whether it does), else one. `given` is what was said beside the
// script: sizes that the script leaves unknown (completed in `mapping`) and whatever it has no word
// for. Nothing is guessed: an unknown tp, pp or number of micro-batches that `given` lacks is an
// error; an unknown recompute switch is in the matrix, off and on. Errors: UsageError, also when
// `given` contradicts the script or the sizes are impossible.
std::vector<LaunchJob> launch_jobs(launch::LaunchMapping& mapping, const Settings& given);

// What was read, for the report.
LaunchNotes launch_notes(const std::string& file, const launch::LaunchMapping& mapping);

}  // namespace culprit
