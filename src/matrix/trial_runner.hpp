// Runs cells as scenario programs, each in a process of its own or many in one.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/cell.hpp"
#include "outcome/outcome.hpp"
#include "process/process_runner.hpp"
#include "trace/cell_trace.hpp"

namespace culprit {

struct TrialOptions {
  // The scenario's; empty: nothing runs, a cell that is not known is an error.
  std::filesystem::path program = {};
  std::vector<std::string> flags = {};  // that each process gets beside its cell's: where it runs
  // Where each rank is a process: the front of the command that starts a cell's, which its number of
  // ranks follows. Empty: a cell is one process.
  std::vector<std::string> launcher = {};
  // Of each process, beside the driver's own.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment = {};
  // A process runs many cells, one after the other, because starting one is dear (a CUDA context);
  // one that dies costs its cell, and another goes on with the rest.
  bool many_cells_a_process = false;
  std::size_t jobs = 1;
  // Without any rank finishing an operation: the process group is killed and the cell is HANG.
  std::chrono::milliseconds stall_deadline{10000};
  // Where each rank is a process, the job sees its stalls itself, and the launcher is given so much
  // longer: for its processes to start, meet and end.
  std::chrono::milliseconds launcher_margin{200000};
  int cancel_fd = -1;
  // What a cell came to, before anybody sees it: may rewrite text (mask what is private).
  std::function<void(Outcome& outcome)> on_outcome = {};
  // Before a batch starts: how many trials there are then in all, finished ones included.
  std::function<void(std::size_t num_trials)> on_planned;
  // As each cell ends: its flags, what it came to, its JSON line (made up for a killed one).
  std::function<void(const std::vector<std::string>& flags, const Outcome& outcome,
                     const std::string& line)>
      on_done;
};

// Remembers what ran: a cell asked for twice runs once.
class TrialRunner {
 public:
  TrialRunner(std::string scenario, TrialOptions options);

  // Outcomes in the order of `cells`. A crash is CRASH with the signal's name, a stall HANG.
  // Errors: SetupError when the program can't start, its launcher gives no sign of life, ends with
  // a status that is no outcome, or prints no outcome; UnavailableError when it says that it lacks
  // what it was asked to run on; Stopped when cancelled.
  std::vector<Outcome> run(const std::vector<Cell>& cells);
  // Runs the cells once more, each writing what its ranks did to the file at the same place of
  // `files`. A cell that left no file (killed, crashed) has an empty trace. Errors: as run.
  std::vector<CellTrace> trace(const std::vector<Cell>& cells,
                               const std::vector<std::filesystem::path>& files);
  // Takes a cell as run.
  void remember(const Cell& cell, const Outcome& outcome);
  std::size_t trials() const { return known_.size(); }

 private:
  // A process with `flags`, as every trial's.
  ProcessRequest request(const std::vector<std::string>& flags) const;
  // The process or processes of one cell, where the trials run.
  ProcessRequest request_for(const Cell& cell) const;
  void run_alone(const std::vector<Cell>& cells);
  void run_together(std::vector<Cell> cells);
  void keep(const Cell& cell, Outcome outcome);

  std::string scenario_;
  TrialOptions options_;
  std::map<std::vector<std::string>, std::optional<Outcome>>
      known_;  // by flags; empty: asked for, not ended
};

// The trace in a file; empty when there is none. Errors: SetupError.
CellTrace read_trace(const std::filesystem::path& file);

// All flags of a cell as its program takes them: defaults too where none differs, so that it is
// never mistaken for the claim.
std::vector<std::string> program_flags(const Cell& cell);

// The run was cancelled by a signal; what was found so far has been reported through on_done.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

}  // namespace culprit
