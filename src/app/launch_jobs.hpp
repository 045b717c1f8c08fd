// From a launch script's mapping to the jobs that are run for it.
#pragma once

#include <string>
#include <vector>

#include "config/cell.hpp"
#include "launch/launch_mapping.hpp"
#include "report/run_record.hpp"

namespace culprit {

struct LaunchJob {
  std::string title;
  Cell pinned;
  bool with_recompute = false;
};

// The job as the released layers run it and as layers do that hand the flag to the identity
// operator themselves (docs/semantics.md, rule 19): two jobs where the script asks for asynchronous
// all-reduce, else one. Errors: UsageError when the sizes are impossible.
std::vector<LaunchJob> launch_jobs(const launch::LaunchMapping& mapping);

// What was read, for the report.
LaunchNotes launch_notes(const std::string& file, const launch::LaunchMapping& mapping);

}  // namespace culprit
