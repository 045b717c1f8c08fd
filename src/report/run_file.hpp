// run.json: what of a run's record is not in cells.jsonl and traces/, and a record made again from
// these.
#pragma once

#include <filesystem>
#include <string>

#include "report/run_record.hpp"

namespace culprit {

inline constexpr int kRunSchema = 1;

std::string run_file(const RunRecord& record);

// The record of a run's folder. Errors: UsageError when it is no run's folder, when the run did not
// finish or when its scenario is not known here; SetupError when a file is broken or cells are
// missing.
RunRecord read_run(const std::filesystem::path& folder);

// A run's cells by what they are: scenario, settings, outcome.
struct RecordedCell {
  std::string scenario;
  Settings settings;
  Outcome outcome;
};
struct RecordedCells {
  std::vector<RecordedCell> cells;  // in the order in which they finished
  bool is_cut = false;              // a last line that was cut is left out
};
// Of cells.jsonl. Errors: as read_run.
RecordedCells read_cells_file(const std::filesystem::path& folder);

// The prefix of the trace files of a record's job.
std::string trace_prefix(std::size_t num_jobs, std::size_t job);

}  // namespace culprit
