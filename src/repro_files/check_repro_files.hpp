// Builds and runs what make_repro_files gave before it is offered: does each file show what it
// says? Results are cached by content, so that the same text under the same tools is run once.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "repro_files/repro_files.hpp"

namespace culprit {

struct ReproCheckOptions {
  // Where results are kept and builds are made; empty: no cache. Made when it isn't there.
  std::filesystem::path cache;
  std::string compiler;  // a C++20 compiler, as $CXX
  std::string python;    // an interpreter that may have PaddlePaddle
  std::size_t jobs = 2;
  std::chrono::milliseconds deadline{120000};  // of each build and each run
  int cancel_fd = -1;                          // RunOptions::cancel_fd
  // After each build or run, with how many were done of how many that are known by now.
  std::function<void(std::size_t done, std::size_t total)> on_done = {};
};

// Cache $XDG_CACHE_HOME/culprit/repros or ~/.cache/culprit/repros (none without a home), compiler
// $CXX or g++, Python $CULPRIT_PYTHON or python3, as many jobs as processors.
ReproCheckOptions default_check_options();

struct ReproCheck {
  enum class Status {
    kShown,     // it showed the outcome (of a test: green today, red with the rule's line changed)
    kNotShown,  // it ran to its end, but not so
    kNotRun,    // what it takes is not here, or it did not build or end
    kRefused,   // there is no such file
  };
  std::string name;
  Status status = Status::kNotRun;
  std::string words;        // what was seen, or why nothing was, in one line
  std::string output_tail;  // the end of what was printed; text from outside
  bool from_cache = false;
};

// One for each file, in order; files of several cells in one call share what is asked of the tools.
// Files that aren't here or can't be written cost the cache, not the result. Only what ran to its end
// is kept. Errors: SetupError
// where no folder for the builds can be made, or the run was cancelled.
std::vector<ReproCheck> check_repro_files(const std::vector<ReproResult>& files,
                                          const ReproCheckOptions& options);

}  // namespace culprit
