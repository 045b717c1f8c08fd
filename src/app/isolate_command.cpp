#include "app/isolate_command.hpp"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/cell_flags.hpp"
#include "app/isolation_folder.hpp"
#include "app/launch_jobs.hpp"
#include "app/launch_target.hpp"
#include "app/report_command.hpp"
#include "app/target_flags.hpp"
#include "base/error.hpp"
#include "base/whole_file.hpp"
#include "campaign/campaign.hpp"
#include "comm/runtime.hpp"
#include "process/standard_streams.hpp"
#include "process/stop_signal.hpp"
#include "report/isolation_console.hpp"
#include "report/isolation_json.hpp"
#include "report/wording.hpp"
#include "report/write_isolation.hpp"
#include "report/write_report.hpp"
#include "terminal/escape.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/style.hpp"
#include "terminal/terminal.hpp"

namespace culprit {
namespace fs = std::filesystem;

struct IsolateCommand::Impl {
  std::unique_ptr<TargetFlags> target;
  SearchOptions search;
  std::string out, json, origin = "run", emit;
  std::vector<std::string> merge;
  std::size_t jobs = 0;
  std::size_t emit_combination = 1;
  bool resume = false;
  RedactFlag redact;
};

IsolateCommand::IsolateCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  CLI::App* sub = app.add_subcommand(
      "isolate",
      "Finds every smallest set of switch values that makes a run fail, proves that each is "
      "smallest, "
      "lowers the sizes and tries fixes.\n\n"
      "Example: culprit isolate --command 'python train.py {toggles}' --toggle 'skip=--skip|' "
      "--toggle 'acc=--acc 4|--acc 1' --jobs 4\n"
      "Each toggle has the reporter's value first and off last; the run with all off must pass.\n"
      "Exit status: 0 nothing fails, 1 a minimal combination was found, 2 usage, 3 stopped by the "
      "budget or a signal (what was found is written).");
  in.target = std::make_unique<TargetFlags>(*sub);
  sub->add_option("--out", in.out, "folder to write; must not exist (default repro-out/<time>)")
      ->type_name("DIR")
      ->check(not_empty());
  sub->add_flag("--resume", in.resume, "go on in --out DIR: finished trials are not run again");
  in.redact.add_to(*sub);
  sub->add_option("--json", in.json, "write report.json there too")
      ->type_name("FILE")
      ->check(not_empty());
  sub->add_option("--merge", in.merge,
                  "journals of several machines, or their folders: written as one to --out DIR")
      ->type_name("JOURNAL ...");
  sub->add_option("--origin", in.origin, "name of this machine in the journal")
      ->capture_default_str();
  sub->add_option("--jobs", in.jobs, "trials at a time (default 1; a scenario: all cores)")
      ->check(CLI::Range(1, 256));
  sub->add_option("--max-trials,--budget", in.search.max_trials, "stop after so many trials")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->capture_default_str();
  sub->add_option("--strength", in.search.strength,
                  "look for interactions of up to so many switches")
      ->check(CLI::Range(1, kMaxStrength))
      ->capture_default_str();
  sub->add_option("--exhaustive-limit", in.search.exhaustive_limit,
                  "run every assignment when there are at most so many")
      ->capture_default_str();
  sub->add_option("--seed", in.search.seed, "of the choices that the search makes")
      ->capture_default_str();
  sub->add_flag("--flaky", in.search.flaky,
                "repeat passing runs from the start, not only once a failure came and went");
  sub->add_option("--min-rate", in.search.failure_rate_floor,
                  "failures rarer than this count as gone")
      ->check(CLI::Range(0.01, 0.99))
      ->capture_default_str();
  sub->add_option("--emit-script", in.emit,
                  "with --from: write the script there with all switches off that are not needed")
      ->type_name("FILE")
      ->check(not_empty());
  sub->add_option("--emit-combination", in.emit_combination,
                  "which minimal combination --emit-script keeps, as listed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}
IsolateCommand::~IsolateCommand() = default;

namespace {

// What can be known to fail at the end is refused at the beginning.
void check_file_place(const std::string& flag, const std::string& path, bool may_exist) {
  if (path.empty()) return;
  const fs::path folder = fs::absolute(path).parent_path();
  if (!fs::is_directory(folder))
    throw UsageError(fmt::format("{}: there is no folder '{}'", flag, folder.string()));
  if (fs::is_directory(path))
    throw UsageError(fmt::format("{}: '{}' is a folder, expected a file", flag, path));
  if (!may_exist && fs::exists(fs::symlink_status(path)))
    throw UsageError(fmt::format("{}: '{}' exists already and is not overwritten", flag, path));
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

// Writes the reduced script; what came of it, in words.
std::string emit_script(const LaunchInput& launch, const IsolationRecord& record,
                        const std::string& path, std::size_t wanted) {
  const auto& combinations = record.result.search.combinations;
  if (wanted > combinations.size())
    return fmt::format("{}: not written, there is no minimal combination {}", path, wanted);
  const auto edits =
      edits_for(launch.mapping, record.target.space(), combinations[wanted - 1].settings);
  if (!edits)
    return fmt::format(
        "{}: not written, combination {} needs a switch that the script has off; choose another by "
        "--emit-combination",
        path, wanted);
  std::string text;
  try {
    text = launch::emit_reduced_script(launch.script, *edits);
  } catch (const UsageError& error) {
    return fmt::format("{}: not written: {}", path, error.what());
  }
  write_new_file(path, text);
  std::string off;
  for (const launch::LaunchEdit& edit : *edits) off += (off.empty() ? "" : ", ") + edit.setting;
  return fmt::format("{}: the script for combination {}, turned off: {}", path, wanted,
                     off.empty() ? "nothing" : off);
}

}  // namespace

int IsolateCommand::run(const std::vector<std::string>& command) const {
  const Impl& in = *impl_;
  Redactor redactor = in.redact.redactor();
  const auto start = std::chrono::steady_clock::now();
  if (in.resume && in.out.empty())
    throw UsageError("--resume needs --out DIR, the folder to go on in");
  if (!in.merge.empty() && (in.out.empty() || in.resume))
    throw UsageError("--merge needs --out DIR, a new folder, and goes without --resume");
  if (!in.merge.empty() && !in.target->is_given()) {
    merge_into_folder(in.merge, in.out);
    fmt::print("{}: the merged journal; go on with --out {} --resume and the flags of the search\n",
               escape_controls(in.out), escape_controls(in.out));
    return 0;
  }
  const ChosenTarget chosen = in.target->choose();
  const CommandTarget& target = *chosen.target;
  if (!in.emit.empty() && !chosen.launch)
    throw UsageError("--emit-script needs --from SCRIPT, the script to reduce");
  check_file_place("--emit-script", in.emit, /*may_exist=*/false);
  check_file_place("--json", in.json, /*may_exist=*/true);

  CampaignOptions options;
  options.search = in.search;
  options.runner.jobs = in.jobs > 0       ? in.jobs
                        : chosen.scenario ? std::max(1U, std::thread::hardware_concurrency())
                                          : 1;
  options.search.batch_size = options.runner.jobs;
  if (target.has_fixed_dump() && options.runner.jobs > 1)
    throw UsageError(
        "--dump names one file for all trials: expected --jobs 1, or {dump} in --command");

  if (!in.merge.empty()) merge_into_folder(in.merge, in.out);
  IsolationFolder folder(in.out, in.resume || !in.merge.empty(), target, in.origin);
  options.runner.work_directory =
      fs::absolute(folder.work_path()).string();  // a command may change its folder
  StopSignal stop;
  options.runner.cancel_fd = stop.fd();
  const std::size_t resumed = folder.journal().records().size();
  if (in.resume && resumed == 0)
    print_error(fmt::format("culprit: nothing to go on with in {}; the search begins anew\n",
                            escape_controls(in.out)));

  ProgressBar bar(STDERR_FILENO, 0, "trials");
  std::string part;
  std::size_t done = 0;
  std::size_t failed = 0;
  options.on_part = [&](const std::string& name) { part = name; };
  options.runner.on_trial = [&](const FinishedTrial& trial) {
    failed += trial.trial.status == Trial::Status::kFail ? 1 : 0;
    bar.update(++done, fmt::format("{}, {} failed", part, failed));
  };
  CampaignResult result;
  try {
    result = run_campaign(target, folder.journal(), options);
  } catch (const UsageError&) {
    bar.clear();
    folder.discard_if_unused();
    throw;
  }
  bar.clear();

  IsolationRecord record{.target = target,
                         .journal = folder.journal(),
                         .result = result,
                         .scenario = chosen.scenario,
                         .ranks = {},
                         .launch = {},
                         .stop_signal = stop.is_stopped() ? signal_name(stop.signal()) : "",
                         .resumed_trials = resumed,
                         .command = command,
                         .environment = describe_environment(cpu_threads().description()),
                         .wall_seconds = 0};
  if (chosen.scenario)
    for (const CombinationDetail& detail : result.details) {
      const Cell cell = cell_of_trial(*chosen.scenario, chosen.request, target, detail.smallest);
      record.ranks.push_back(cell.tp * cell.pp);
    }
  if (chosen.launch)
    record.launch =
        launch_notes(chosen.launch->script.path.filename().string(), chosen.launch->mapping);
  record.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Shown first: a full disk must not lose what was found.
  const int columns = is_terminal(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : 160;
  fmt::print("{}", isolation_console(record, Style::for_output(STDOUT_FILENO), columns));
  write_isolation(record, folder.path(), redactor);
  if (!in.json.empty()) write_whole_file(in.json, isolation_json(record, redactor));
  if (!in.emit.empty())
    fmt::print("\n{}\n",
               escape_controls(emit_script(*chosen.launch, record, in.emit, in.emit_combination)));
  fmt::print("\nreport: {} (paste it), report.json, journal.jsonl\n",
             escape_controls((folder.path() / "report.md").string()));
  if (const std::string summary = redactor.summary(); !summary.empty())
    fmt::print("masked in the reports: {} (--redact=none keeps them)\n", summary);
  fmt::print(
      "not masked in journal.jsonl, from which a run goes on: it holds your command lines and "
      "outputs as they are\n");
  if (!record.is_complete())
    fmt::print("go on: the same command with --out {} --resume\n",
               escape_controls(shell_line({folder.path().string()})));
  if (!record.is_complete() || (!record.has_failure() && !record.is_judged())) return kExitSetup;
  return record.has_failure() ? kExitUnexpected : 0;
}

}  // namespace culprit
