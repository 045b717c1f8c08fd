// Two runs of one scenario compared cell by cell: before and after a fix, two framework versions,
// two machines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/run_file.hpp"

namespace culprit {

struct CellChange {
  enum class Kind {
    kBroken,        // passed, fails now
    kTurnedSilent,  // an error became a wrong number
    kDiffers,       // fails in another way
    kFixed,         // failed, passes now
  };
  Kind kind = Kind::kDiffers;
  std::string cell;  // its flags
  Outcome before;
  Outcome after;
};

struct RunDiff {
  std::string scenario;
  std::vector<CellChange> changes;  // worse ones first, then in the first run's order
  std::size_t num_compared = 0;
  std::size_t only_before = 0;  // cells of one run that the other lacks
  std::size_t only_after = 0;
  std::vector<std::string> cut_files;  // whose last line was cut short and is left out
  std::string framework_before;  // set when the two differ
  std::string framework_after;
  bool got_worse() const;
};

// Cells are the same when all sizes and toggles but the framework are. Errors: UsageError when the
// scenarios differ or no cell is in both, and as read_run.
RunDiff diff_runs(const std::filesystem::path& before, const std::filesystem::path& after);

// "broken", "turned silent", "differs", "fixed"
std::string_view change_name(CellChange::Kind kind);

}  // namespace culprit
