#include "matrix/trial_runner.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.hpp"
#include "base/exit_status.hpp"
#include "outcome/outcome_json.hpp"
#include "trace/trace_json.hpp"

namespace culprit {
namespace {

// The program is no scenario's, refuses its cell or lacks what it needs. Errors: UsageError,
// UnavailableError, SetupError.
[[noreturn]] void throw_failure(const ProcessResult& result,
                                const std::vector<std::string>& command, const std::string& why) {
  std::string words = result.err.text();
  while (words.ends_with('\n')) words.pop_back();
  if (result.end == ProcessEnd::kExited && result.value == kExitUnavailable)
    throw UnavailableError(words);
  if (result.end == ProcessEnd::kExited && result.value == kExitUsage)
    throw UsageError(fmt::format("a cell can't be run: {} (repeat it by hand: {})", words,
                                 fmt::join(command, " ")));
  throw SetupError(fmt::format("{}: {}; repeat it by hand: {}\n{}", command[0], why,
                               fmt::join(command, " "), result.err.text()));
}

// The outcome of a cell whose process died or was killed over it; none where it ended by itself.
// Errors: as throw_failure; Stopped.
std::optional<Outcome> outcome_of_death(const ProcessResult& result,
                                        const std::vector<std::string>& command) {
  Outcome outcome;
  switch (result.end) {
    case ProcessEnd::kExited:
      return std::nullopt;
    case ProcessEnd::kSignalled: {
      const char* name = sigabbrev_np(result.value);
      outcome.outcome = OutcomeClass::kCrash;
      outcome.kind = name ? fmt::format("SIG{}", name) : fmt::format("signal {}", result.value);
      outcome.message = "the cell's process died of a signal";
      return outcome;
    }
    case ProcessEnd::kStalled:
    case ProcessEnd::kDeadline:
      outcome.outcome = OutcomeClass::kHang;
      outcome.kind = "STALLED";
      outcome.message =
          "no rank finished an operation before the deadline; the process group was killed";
      return outcome;
    case ProcessEnd::kCancelled:
      throw Stopped();
    case ProcessEnd::kCannotStart:
      throw_failure(result, command, result.error);
  }
  throw_failure(result, command, "ended in an unknown way");
}

// The first line of `words` that one of our programs has printed; where none has, the first.
std::string own_words(const std::string& words, const std::string& program) {
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(program + ": ") || line.starts_with("culprit: ")) return line;
  return words.substr(0, words.find('\n'));
}

// The outcome of a cell whose processes were ended over it, from the status of their launcher and
// what they said; none where it says nothing of that.
std::optional<Outcome> outcome_of_ended_job(const ProcessResult& result,
                                            const std::string& program) {
  constexpr int kSignalled = 128;  // as shells and launchers tell a signal
  Outcome outcome;
  outcome.message = own_words(result.err.text(), program);
  const auto told = outcome_of_exit(result.value);
  if (told == OutcomeClass::kCrash || told == OutcomeClass::kHang) {
    outcome.outcome = *told;
    outcome.kind = told == OutcomeClass::kHang ? "STALLED" : "PROCESS_LOST";
    return outcome;
  }
  const char* name = result.value > kSignalled ? sigabbrev_np(result.value - kSignalled) : nullptr;
  if (!name) return std::nullopt;
  outcome.outcome = OutcomeClass::kCrash;
  outcome.kind = fmt::format("SIG{}", name);
  return outcome;
}

// The outcome of an ended program that ran one cell. Errors: as throw_failure.
// `job`: the program, where the command started the cell's ranks as processes of it; else empty.
Outcome outcome_of(const ProcessResult& result, const std::vector<std::string>& command,
                   const std::string& job) {
  const std::string out = result.out.text();
  const auto printed = [&] { return parse_json_line(out.substr(0, out.find('\n'))); };
  if (!job.empty() && result.end == ProcessEnd::kStalled) {
    // The launcher's trouble, not the cell's.
    if (!out.empty()) return printed();
    throw_failure(result, command, "gave no sign of life, and was killed");
  }
  if (const auto outcome = outcome_of_death(result, command)) return *outcome;
  if (!job.empty())
    if (const auto outcome = outcome_of_ended_job(result, job))
      // One that was lost after rank 0 had judged the cell changes nothing of that.
      return out.empty() ? *outcome : printed();
  if (!outcome_of_exit(result.value))
    throw_failure(result, command, fmt::format("ended with exit status {}", result.value));
  if (out.empty()) throw_failure(result, command, "printed no outcome");
  Outcome outcome = printed();
  if (outcome.outcome != *outcome_of_exit(result.value))
    throw_failure(result, command,
                  fmt::format("ended with exit status {}, but its line says {}", result.value,
                              row_of(outcome.outcome).name));
  return outcome;
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
  // What is worked out beside the ranks, the reference, has its share of the cores.
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t share = std::max<std::size_t>(1, cores / std::max<std::size_t>(1, options_.jobs));
  request.environment = {{"OPENBLAS_NUM_THREADS", std::to_string(share)}};
  for (const auto& variable : options_.environment) request.environment.push_back(variable);
  request.stall_deadline = options_.stall_deadline;
  return request;
}

ProcessRequest TrialRunner::request_for(const Cell& cell) const {
  std::vector<std::string> flags = options_.flags;
  for (const std::string& flag : program_flags(cell)) flags.push_back(flag);
  ProcessRequest made = request(flags);
  if (options_.launcher.empty()) return made;
  std::vector<std::string> argv = options_.launcher;
  argv.push_back(std::to_string(cell.tp * cell.pp));
  argv.insert(argv.end(), made.argv.begin(), made.argv.end());
  // The job sees by itself when none of its processes goes on; this is for a launcher that hangs.
  argv.push_back(fmt::format(
      "--stall={}", std::chrono::duration<double>(options_.stall_deadline).count()));
  made.argv = std::move(argv);
  *made.stall_deadline += options_.launcher_margin;
  return made;
}

void TrialRunner::keep(const Cell& cell, Outcome outcome) {
  if (options_.on_outcome) options_.on_outcome(outcome);
  const auto flags = program_flags(cell);
  known_[flags] = outcome;
  if (options_.on_done) options_.on_done(flags, outcome, to_json_line(scenario_, cell, outcome));
}

void TrialRunner::remember(const Cell& cell, const Outcome& outcome) {
  known_[program_flags(cell)] = outcome;
}

std::vector<Outcome> TrialRunner::run(const std::vector<Cell>& cells) {
  std::vector<Cell> missing;
  for (const Cell& cell : cells)
    if (known_.try_emplace(program_flags(cell)).second) missing.push_back(cell);
  if (options_.program.empty() && !missing.empty())
    throw SetupError(fmt::format("{} of {} cells are not there, the first is {}", missing.size(),
                                 cells.size(), fmt::join(program_flags(missing[0]), " ")));
  if (options_.on_planned) options_.on_planned(known_.size());
  if (options_.many_cells_a_process)
    run_together(std::move(missing));
  else
    run_alone(missing);
  std::vector<Outcome> outcomes;
  for (const Cell& cell : cells) outcomes.push_back(known_.at(program_flags(cell)).value());
  return outcomes;
}

void TrialRunner::run_alone(const std::vector<Cell>& cells) {
  std::vector<ProcessRequest> requests;
  for (const Cell& cell : cells) requests.push_back(request_for(cell));
  const std::string job = options_.launcher.empty() ? "" : options_.program.filename().string();
  const RunOptions options{.jobs = options_.jobs,
                           .on_start = {},
                           .on_done =
                               [&](std::size_t i, ProcessResult&& result) {
                                 keep(cells[i], outcome_of(result, requests[i].argv, job));
                               },
                           .on_line = {},
                           .cancel_fd = options_.cancel_fd};
  if (!run_processes(requests, options)) throw Stopped();
}

void TrialRunner::run_together(std::vector<Cell> cells) {
  while (!cells.empty()) {
    // Cells are dealt out in turn: neighbours in a matrix are alike in cost.
    const std::size_t num_workers = std::min(options_.jobs, cells.size());
    std::vector<std::vector<Cell>> dealt(num_workers);
    for (std::size_t i = 0; i < cells.size(); ++i) dealt[i % num_workers].push_back(cells[i]);
    std::vector<std::size_t> answered(num_workers, 0);
    std::vector<std::string> flags = options_.flags;
    flags.push_back("--worker");
    std::vector<ProcessRequest> requests(num_workers, request(flags));
    for (std::size_t w = 0; w < num_workers; ++w)
      for (const Cell& cell : dealt[w])
        requests[w].input += fmt::format("{}\n", fmt::join(program_flags(cell), "\t"));
    std::vector<Cell> left;
    const RunOptions options{
        .jobs = num_workers,
        .on_start = {},
        .on_done =
            [&](std::size_t w, ProcessResult&& result) {
              const auto outcome = outcome_of_death(result, requests[w].argv);
              if (answered[w] < dealt[w].size()) {
                if (!outcome)
                  throw_failure(result, requests[w].argv,
                                fmt::format("answered {} of {} cells and ended with exit status {}",
                                            answered[w], dealt[w].size(), result.value));
                keep(dealt[w][answered[w]++], *outcome);
              }
              left.insert(left.end(), dealt[w].begin() + static_cast<std::ptrdiff_t>(answered[w]),
                          dealt[w].end());
            },
        .on_line =
            [&](std::size_t w, std::string_view line) {
              if (answered[w] == dealt[w].size())
                throw SetupError(fmt::format("{}: answered more cells than it was given",
                                             options_.program.string()));
              keep(dealt[w][answered[w]++], parse_json_line(line));
            },
        .cancel_fd = options_.cancel_fd};
    if (!run_processes(requests, options)) throw Stopped();
    cells = std::move(left);
  }
}

std::vector<CellTrace> TrialRunner::trace(const std::vector<Cell>& cells,
                                          const std::vector<std::filesystem::path>& files) {
  // On the default runtime whatever the trials ran on: a trace has calls and no numbers.
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
                     ProcessResult&& result) { outcome_of(result, requests[i].argv, ""); },
      .on_line = {},
      .cancel_fd = options_.cancel_fd};
  if (!run_processes(requests, options)) throw Stopped();
  std::vector<CellTrace> traces;
  for (const auto& file : files) traces.push_back(read_trace(file));
  return traces;
}

CellTrace read_trace(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  try {
    return text.empty() ? CellTrace{} : trace_from_json(text);
  } catch (const SetupError& error) {
    throw SetupError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace culprit
