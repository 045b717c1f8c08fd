// Stage: stand-alone reproductions of one failing cell. Scenario, cell and outcome in; out come the
// texts of
//   repro.py        a program for the stock framework, one process or forked ranks
//   repro.cpp       one C++20 source without dependencies: a small engine with just the rules that
//   matter, all ranks
//                   as threads
//   repro_test.cpp  the same as a GoogleTest that asserts today's outcome; one marked line is the
//   rule at fault
// Each is put together from pieces that the cell's traits choose, and the model's own operators
// (engine/model_program.hpp). None knows what other cells come to. check_repro_files.hpp builds and
// runs them. Not to be confused with repro/, which holds the scenarios.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "config/cell.hpp"
#include "outcome/outcome.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

struct ReproRequest {
  const Scenario& scenario;
  Cell cell;
  Outcome outcome;  // what the engine's run of the cell came to (run_once)
  std::string
      label;  // the combination in words, "skip_c_identity + residual"; empty: the cell's flags
};

// The same switches at the smallest sizes that still come to the same fingerprint: what a reader
// wants to see. Runs the engine some ten times. Errors: as run_once.
ReproRequest at_smallest_sizes(const ReproRequest& request);

struct ReproFile {
  std::string name;
  std::string text;
  // What it shows when it runs: its exit status, and a line of its output begins with `shows`.
  int exit_status = 0;
  std::string shows;                   // "ERROR LEAF_INPLACE"
  std::string framework_version = {};  // repro.py only: the release of PaddlePaddle that it's for
  // repro_test.cpp only: a marked line of `text`, and what the fix would make of it; then the test
  // fails.
  std::string rule_line = {};
  std::string fixed_line = {};
};

// Why a file can't be written for this cell, in words.
struct ReproRefusal {
  std::string name;
  std::string reason;
};

using ReproResult = std::variant<ReproFile, ReproRefusal>;
const std::string& name_of(const ReproResult& result);

// The three files, none of which can be written.
std::vector<ReproResult> refuse_all(const std::string& reason);

// Those that could be written, into `folder`, which is made where there are any. Errors: SetupError.
void write_repro_files(const std::filesystem::path& folder, const std::vector<ReproResult>& files);

// One for each of repro.py, repro.cpp and repro_test.cpp, in this order. Deterministic: equal
// requests give equal texts. Errors: UsageError when the outcome is PASS.
std::vector<ReproResult> make_repro_files(const ReproRequest& request);

}  // namespace culprit
