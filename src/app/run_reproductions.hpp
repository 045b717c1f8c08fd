// The stand-alone reproductions of a run's minimal combinations: written into its folder, then
// built and run.
#pragma once

#include <filesystem>
#include <vector>

#include "report/run_record.hpp"
#include "repro_files/check_repro_files.hpp"

namespace culprit {

// Of so many minimal combinations, over all jobs, a run writes reproductions.
inline constexpr std::size_t kMaxReproduced = 8;

struct WrittenReproductions {
  std::vector<FindingReproductions> findings;
  // Those of `findings` in order; combinations that come to the same cell share them.
  std::vector<ReproResult> files;
  std::vector<std::size_t> first_file;  // by finding: into `files`
};

// Writes repros/COMBINATION/ in the run's folder; nothing is built yet. Runs the engine some ten
// times a combination. Errors: SetupError.
WrittenReproductions write_reproductions(const RunRecord& record,
                                         const std::filesystem::path& folder);

// Builds and runs them, and notes what was seen in `findings`. Trouble is noted too: a run is not
// lost because its reproductions could not be checked.
void check_reproductions(WrittenReproductions& written, const ReproCheckOptions& options);

}  // namespace culprit
