// Stage: report. Everything one run found, as the writers take it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matrix/run_matrix.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

// What was read from a launch script; empty when the run was not made from one. All text is the
// script author's, raw: writers escape it for their format.
struct LaunchNotes {
  std::string file;
  std::string dialect;
  std::vector<std::string> modelled;      // "--recompute 1 (line 61): recompute"
  std::vector<std::string> not_modelled;  // recognised
  std::vector<std::string> unknown;       // flags, and what could not be evaluated
};

struct RunRecord {
  const Scenario* scenario = nullptr;
  std::vector<std::string> command;  // what the user typed, program first
  std::vector<std::pair<std::string, std::string>> environment;
  LaunchNotes launch;
  std::vector<JobResult> jobs;
  std::size_t num_trials = 0;
  double wall_seconds = 0.0;
  std::string ran_on = "CPU threads";  // in words
  bool many_cells_a_process = false;
  std::vector<std::string>
      runtime_flags;       // where its cells ran, for that command; empty for the default
  std::string bin_folder;  // of the scenario programs, for the command that repeats a cell

  bool as_declared() const {
    for (const JobResult& job : jobs)
      if (!job.differences.empty()) return false;
    return true;
  }
};

// Compiler and libraries, CPU, what the cells ran on, commit of this project. Never user or host
// names.
std::vector<std::pair<std::string, std::string>> describe_environment(const std::string& runtime);

}  // namespace culprit
