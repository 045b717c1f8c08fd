#include "app/scenario_main.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "app/cell_flags.hpp"
#include "app/runtime_flags.hpp"
#include "base/error.hpp"
#include "base/exit_status.hpp"
#include "base/version.hpp"
#include "base/whole_file.hpp"
#include "comm/process_group.hpp"
#include "engine/run_cell.hpp"
#include "outcome/outcome_json.hpp"
#include "outcome/run_once.hpp"
#include "process/progress_counter.hpp"
#include "process/standard_streams.hpp"
#include "trace/trace_json.hpp"

namespace culprit {
namespace {

// --expect OUTCOME[:KIND]
struct Expectation {
  OutcomeClass outcome = OutcomeClass::kPass;
  std::string kind;
};

Expectation parse_expectation(const std::string& text) {
  const auto colon = text.find(':');
  const auto outcome = outcome_named(text.substr(0, colon));
  if (!outcome) {
    std::string names;
    for (const auto& row : kOutcomes)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
    throw UsageError(fmt::format(
        "--expect: got '{}', expected OUTCOME[:KIND] with OUTCOME one of {}", text, names));
  }
  return {*outcome, colon == std::string::npos ? "" : text.substr(colon + 1)};
}

// `is_speaker`: false on the processes of a job but one.
int report(const Outcome& outcome, const std::string& expect, bool is_speaker) {
  if (expect.empty()) return row_of(outcome.outcome).exit_status;
  const Expectation wanted = parse_expectation(expect);
  const bool met =
      outcome.outcome == wanted.outcome && (wanted.kind.empty() || outcome.kind == wanted.kind);
  if (!met && is_speaker)
    print_error(fmt::format("expected {}, got {}{}{}\n", expect, row_of(outcome.outcome).name,
                            outcome.kind.empty() ? "" : ":", outcome.kind));
  return met ? 0 : kExitUnexpected;
}

Outcome run_here(const Scenario& scenario, const Cell& cell, Runtime& runtime,
                 ProgressCounter& progress) {
  return run_once(scenario.model, cell,
                  {.on_operation = [&progress] { progress.tick(); }, .runtime = &runtime});
}

// Runs a cell for each line of stdin and answers each with its JSON line. Errors: UsageError for
// flags that are none.
void run_worker(const Scenario& scenario, Runtime& runtime, ProgressCounter& progress) {
  for (std::string line; std::getline(std::cin, line);) {
    CLI::App app;
    const CellFlags flags(app, scenario.own_toggles);
    std::vector<std::string> words;
    std::istringstream in(line);
    for (std::string word; std::getline(in, word, '\t');)
      words.insert(words.begin(), word);  // CLI11 takes them last first
    try {
      app.parse(words);
    } catch (const CLI::ParseError& error) {
      throw UsageError(fmt::format("--worker: line '{}': {}", line, error.what()));
    }
    Cell cell;
    apply_settings(scenario, cell, flags.given());
    validate(cell);
    fmt::print("{}\n",
               to_json_line(scenario.name, cell, run_here(scenario, cell, runtime, progress)));
    std::fflush(stdout);
  }
}

void write_trace(const std::string& file, const Scenario& scenario, const Cell& cell,
                 Runtime& runtime) {
  CellTrace trace;
  for (RankResult& rank : run_cell(scenario.model, cell, {.trace = true, .runtime = &runtime}))
    trace.ranks.push_back(std::move(rank.trace));
  if (!trace.ranks.empty()) write_whole_file(file, trace_to_json(trace));
}

// The outcome of a job whose processes can't go on, from the exit status that each ends with.
Outcome outcome_of_ended_job(const JobEndedError& error) {
  Outcome outcome;
  outcome.outcome = *outcome_of_exit(error.exit_status());
  outcome.kind = outcome.outcome == OutcomeClass::kHang ? "STALLED" : "PROCESS_LOST";
  outcome.message = error.what();
  return outcome;
}

// What every process of a job must have been started with.
std::string start_of(const Scenario& scenario, const Cell& cell, const std::string& expect,
                     const std::string& trace_file) {
  std::string text = scenario.name;
  for (const std::string& flag : to_flags(cell)) text += " " + flag;
  if (!expect.empty()) text += " --expect=" + expect;
  if (!trace_file.empty()) text += " --trace";
  return text;
}

// Errors: UsageError, on each process, when they were not all started alike: what they ran would be
// no cell.
void require_alike(ProcessGroup& processes, const std::string& start) {
  const std::vector<std::string> all = processes.gather(start);
  std::string odd;
  for (std::size_t rank = 1; rank < all.size() && odd.empty(); ++rank)
    if (all[rank] != all[0])
      odd = fmt::format(
          "the processes of a job take the same program and flags: rank 0 has '{}', rank {} has "
          "'{}'",
          all[0], rank, all[rank]);
  odd = processes.broadcast(odd);
  if (!odd.empty()) throw UsageError(odd);
}

// Runs the cell as one process of a job that each of them calls alike. Rank 0 prints; all return
// the same status, and none before rank 0 has printed: launchers end the whole job when a process
// ends with a failure. For the same reason an error is printed before this process leaves the job.
int run_in_job(const Scenario& scenario, const Cell& cell, Runtime& runtime,
               ProgressCounter& progress, const std::string& expect,
               const std::string& trace_file) {
  ProcessGroup& processes = *runtime.processes();
  const bool is_speaker = processes.rank() == 0;
  const auto print = [&](const Outcome& outcome) {
    if (is_speaker) fmt::print("{}\n", to_json_line(scenario.name, cell, outcome));
    std::fflush(stdout);
  };
  return guarded(scenario.name, [&] {
    std::optional<int> status;
    try {
      require_alike(processes, start_of(scenario, cell, expect, trace_file));
      const Outcome outcome = run_here(scenario, cell, runtime, progress);
      if (!trace_file.empty()) write_trace(trace_file, scenario, cell, runtime);
      print(outcome);
      status = report(outcome, expect, is_speaker);
      processes.broadcast({});
      return *status;
    } catch (const JobEndedError& error) {
      // A process that is lost after the cell was judged changes nothing of what was printed.
      if (status && is_speaker) return *status;
      if (outcome_of_exit(error.exit_status())) print(outcome_of_ended_job(error));
      throw;
    }
  });
}

}  // namespace

int scenario_main(const Scenario& scenario, int argc, char** argv) {
  CLI::App app{
      fmt::format(
          "{}\n({})\n\nRuns one cell and prints one JSON line. Without flags: the claim. Exit "
          "status: 0 PASS (with --expect: as expected), 1 not as expected, 3 could not set up, 10 "
          "ERROR, 11 WRONG_GRAD, 12 MISSING_GRAD, 13 WRONG_LOSS, 14 HANG, 15 "
          "LEAK, 16 CRASH, 17 WRONG_STATE, 2 usage, 77 hardware missing.",
          scenario.title, scenario.upstream),
      scenario.name};
  app.set_version_flag("--version", std::string(kVersionText));
  bool clean = false;
  std::string expect;
  app.add_flag("--clean", clean, "run the clean twin of the claim: it passes");
  app.add_option("--expect", expect, "exit 0 if it comes out as OUTCOME[:KIND], else 1")
      ->type_name("OUTCOME[:KIND]")
      ->check(not_empty());
  std::string trace_file;
  app.add_option("--trace", trace_file,
                 "also write what every rank did, operation by operation, as JSON")
      ->type_name("FILE")
      ->check(not_empty());
  bool worker = false;
  app.add_flag(
      "--worker", worker,
      "run a cell for each line of stdin (its flags, tabs between), answer each with a line");
  RuntimeChoice choice;
  add_runtime_flags(app, choice);
  app.add_option("--stall", choice.stall_seconds,
                 "ranks as processes: seconds without any of them finishing an operation: HANG")
      ->check(seconds_between(0.1, 3600.0))
      ->capture_default_str()
      ->group("Where it runs");
  const CellFlags flags(app, scenario.own_toggles);
  if (const int status = parse_or_report(app, argc, argv); status >= 0) return status;

  return guarded(scenario.name, [&] {
    if (!expect.empty()) parse_expectation(expect);
    const Settings given = flags.given();
    ProgressCounter progress = ProgressCounter::from_environment();
    if (worker) {
      if (clean || !expect.empty() || !trace_file.empty() || !given.empty())
        throw UsageError(
            "--worker takes its cells from stdin: no --clean, --expect, --trace, sizes or toggles "
            "beside it");
      if (choice.comm == "mpi")
        throw UsageError("--worker takes its ranks as threads: start one process for each cell");
      require_one_process(choice, "a --worker");
      const std::unique_ptr<Runtime> runtime = open_runtime(choice);
      run_worker(scenario, *runtime, progress);
      return 0;
    }
    if (clean && !given.empty())
      throw UsageError("--clean runs a fixed cell: it takes no sizes or toggles");
    Cell cell;
    if (clean)
      cell = clean_cell(scenario);
    else if (given.empty())
      cell = claim_cell(scenario);
    else
      apply_settings(scenario, cell, given);
    validate(cell);
    const std::unique_ptr<Runtime> runtime = open_runtime(choice);
    if (runtime->processes())
      return run_in_job(scenario, cell, *runtime, progress, expect, trace_file);
    const Outcome outcome = run_here(scenario, cell, *runtime, progress);
    if (!trace_file.empty()) write_trace(trace_file, scenario, cell, *runtime);
    fmt::print("{}\n", to_json_line(scenario.name, cell, outcome));
    return report(outcome, expect, /*is_speaker=*/true);
  });
}

}  // namespace culprit
