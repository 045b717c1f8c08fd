// Stage: report. Everything one run found, as the writers take it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "matrix/run_matrix.hpp"
#include "matrix/triage.hpp"
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

// A stand-alone reproduction of a minimal combination, and what was seen when it was built and run.
struct Reproduction {
  enum class Status { kShown, kNotShown, kNotRun, kNotWritten };
  std::string name;  // "repro.py"
  Status status = Status::kNotRun;
  std::string words;  // what was seen, or why nothing was
  std::string text;   // of the file; empty where it was not written
};

// Those of one minimal combination.
struct FindingReproductions {
  std::size_t job = 0;      // into RunRecord::jobs
  std::size_t minimal = 0;  // into JobResult::minimal
  std::string folder;       // in the run's folder: "repros/skip_c_identity+residual"
  std::string sizes;        // of its programs, in words
  std::vector<Reproduction> files;
};

// "shown", "not shown", "not run here", "not written"
std::string name_of(Reproduction::Status status);

struct RunRecord {
  const Scenario* scenario = nullptr;
  std::vector<std::string> command;  // what the user typed, program first
  std::vector<std::pair<std::string, std::string>> environment;
  LaunchNotes launch;
  std::vector<JobResult> jobs;
  // Of each job a triage for each of its minimal combinations; empty: not asked for.
  std::vector<std::vector<Triage>> triage = {};
  std::vector<FindingReproductions> reproductions = {};  // of the first few minimal combinations
  std::size_t num_trials = 0;
  double wall_seconds = 0.0;
  std::string ran_on = "CPU threads";  // in words
  // Where its cells ran, for the command that repeats one; empty for the default.
  std::vector<std::string> runtime_flags = {};
  std::int64_t started_ms = 0;  // since 1970-01-01 UTC
  std::string bin_folder;       // of the scenario programs, for the command that repeats a cell
  std::string masked;           // what was masked in these texts, in words; empty: nothing

  bool as_declared() const {
    for (const JobResult& job : jobs)
      if (!job.differences.empty()) return false;
    return true;
  }
};

// Compiler and libraries, CPU, what the cells ran on, commit of this project, and those environment
// variables that reports may show (redact.hpp). Never user or host names.
std::vector<std::pair<std::string, std::string>> describe_environment(const std::string& runtime);

}  // namespace culprit
