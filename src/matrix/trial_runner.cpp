#include "matrix/trial_runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "outcome/outcome_json.hpp"
#include "trace/trace_json.hpp"

namespace culprit {
namespace {

// The outcome of an ended program. Errors: SetupError; UsageError when the program refuses its
// cell.
Outcome outcome_of(const ProcessResult& result, const std::vector<std::string>& command) {
  const auto failed = [&](const std::string& why) {
    return SetupError(fmt::format("{}: {}; repeat it by hand: {}\n{}", command[0], why,
                                  fmt::join(command, " "), result.err.text()));
  };
  switch (result.end) {
    case ProcessEnd::kExited: {
      if (result.value == kExitUsage) {
        std::string why = result.err.text();
        while (why.ends_with('\n')) why.pop_back();
        throw UsageError(fmt::format("a cell can't be run: {} (repeat it by hand: {})", why,
                                     fmt::join(command, " ")));
      }
      if (!outcome_of_exit(result.value))
        throw failed(fmt::format("ended with exit status {}", result.value));
      const std::string out = result.out.text();
      if (out.empty()) throw failed("printed no outcome");
      Outcome outcome = parse_json_line(out.substr(0, out.find('\n')));
      if (outcome.outcome != *outcome_of_exit(result.value))
        throw failed(fmt::format("ended with exit status {}, but its line says {}", result.value,
                                 row_of(outcome.outcome).name));
      return outcome;
    }
    case ProcessEnd::kSignalled: {
      const char* name = sigabbrev_np(result.value);
      Outcome outcome;
      outcome.outcome = OutcomeClass::kCrash;
      outcome.kind = name ? fmt::format("SIG{}", name) : fmt::format("signal {}", result.value);
      outcome.message = "the cell's process died of a signal";
      return outcome;
    }
    case ProcessEnd::kStalled:
    case ProcessEnd::kDeadline: {
      Outcome outcome;
      outcome.outcome = OutcomeClass::kHang;
      outcome.kind = "STALLED";
      outcome.message =
          "no rank finished an operation before the deadline; the process group was killed";
      return outcome;
    }
    case ProcessEnd::kCancelled:
      throw Stopped();
    case ProcessEnd::kCannotStart:
      throw failed(result.error);
  }
  throw failed("ended in an unknown way");
}

}  // namespace

std::vector<std::string> program_flags(const Cell& cell) {
  std::vector<std::string> flags = to_flags(cell);
  if (flags.empty()) flags.push_back(fmt::format("--tp={}", cell.tp));
  return flags;
}

TrialRunner::TrialRunner(std::string scenario, TrialOptions options)
    : scenario_(std::move(scenario)), options_(std::move(options)) {}

ProcessRequest TrialRunner::request(const std::vector<std::string>& flags) const {
  ProcessRequest request;
  request.argv = {options_.program.string()};
  request.argv.insert(request.argv.end(), flags.begin(), flags.end());
  // Ranks are threads already; a cell must not start a second level of threads in the BLAS library.
  request.environment = {{"OPENBLAS_NUM_THREADS", "1"}};
  request.stall_deadline = options_.stall_deadline;
  return request;
}

void TrialRunner::remember(const Cell& cell, const Outcome& outcome) {
  known_[program_flags(cell)] = outcome;
}

std::vector<Outcome> TrialRunner::run(const std::vector<Cell>& cells) {
  std::vector<ProcessRequest> requests;
  std::vector<const Cell*> running;
  for (const Cell& cell : cells) {
    const auto [entry, is_new] = known_.try_emplace(program_flags(cell));
    if (!is_new) continue;
    requests.push_back(request(entry->first));
    running.push_back(&cell);
  }
  if (options_.program.empty() && !running.empty())
    throw SetupError(fmt::format("{} of {} cells are not there, the first is {}", running.size(),
                                 cells.size(), fmt::join(program_flags(*running[0]), " ")));
  if (options_.on_planned) options_.on_planned(known_.size());
  const RunOptions options{.jobs = options_.jobs,
                           .on_start = {},
                           .on_done =
                               [&](std::size_t i, ProcessResult&& result) {
                                 Outcome outcome = outcome_of(result, requests[i].argv);
                                 if (options_.on_outcome) options_.on_outcome(outcome);
                                 const auto flags = program_flags(*running[i]);
                                 known_[flags] = outcome;
                                 if (options_.on_done)
                                   options_.on_done(flags, outcome,
                                                    to_json_line(scenario_, *running[i], outcome));
                               },
                           .cancel_fd = options_.cancel_fd};
  if (!run_processes(requests, options)) throw Stopped();
  std::vector<Outcome> outcomes;
  for (const Cell& cell : cells) outcomes.push_back(known_.at(program_flags(cell)).value());
  return outcomes;
}

std::vector<CellTrace> TrialRunner::trace(const std::vector<Cell>& cells,
                                          const std::vector<std::filesystem::path>& files) {
  std::vector<ProcessRequest> requests;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::vector<std::string> flags = program_flags(cells[i]);
    flags.push_back("--trace=" + files[i].string());
    requests.push_back(request(flags));
  }
  const RunOptions options{
      .jobs = options_.jobs,
      .on_start = {},
      .on_done = [&](std::size_t i,
                     ProcessResult&& result) { outcome_of(result, requests[i].argv); },
      .cancel_fd = options_.cancel_fd};
  if (!run_processes(requests, options)) throw Stopped();
  std::vector<CellTrace> traces;
  for (const auto& file : files) traces.push_back(read_trace(file));
  return traces;
}

CellTrace read_trace(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return text.empty() ? CellTrace{} : trace_from_json(text);
}

}  // namespace culprit
