#include "app/run_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <utility>

#include "app/cell_flags.hpp"
#include "app/launch_jobs.hpp"
#include "app/report_command.hpp"
#include "app/run_reproductions.hpp"
#include "app/runtime_flags.hpp"
#include "app/shown_program_folder.hpp"
#include "app/triage_backends.hpp"
#include "base/error.hpp"
#include "base/program_folder.hpp"
#include "matrix/run_matrix.hpp"
#include "outcome/reference.hpp"
#include "process/standard_streams.hpp"
#include "process/stop_signal.hpp"
#include "report/console_report.hpp"
#include "report/run_file.hpp"
#include "report/wording.hpp"
#include "report/write_report.hpp"
#include "runtime/mpi_launcher.hpp"
#include "terminal/escape.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/style.hpp"
#include "terminal/terminal.hpp"

namespace culprit {
namespace fs = std::filesystem;

namespace {

bool is_scenario(const std::string& name) {
  const auto& all = all_scenarios();
  return std::any_of(all.begin(), all.end(),
                     [&](const Scenario* scenario) { return scenario->name == name; });
}

// A switch that is always in the matrix can't be asked to stay off; to ask for it on is to ask for
// what is done anyway.
void refuse_off_values(const Scenario& scenario, const Settings& given) {
  static const Cell defaults;
  for (const auto& [name, value] : given) {
    const bool always_in =
        name != "pp" && name != "recompute" &&
        std::find(scenario.toggles.begin(), scenario.toggles.end(), name) != scenario.toggles.end();
    if (always_in && value == field_of(scenario, name).get(defaults))
      throw UsageError(
          fmt::format("{} is a switch of {}'s matrix, which runs it off and on; leave the flag out",
                      name, scenario.name));
  }
}

// The one job of a run without a launch script. Without any flag the claim's switches are the
// matrix; so they are under another framework's rules.
LaunchJob job_from_flags(const Scenario& scenario, const Settings& given) {
  LaunchJob job;
  apply_settings(scenario, job.pinned, given);
  if (std::all_of(given.begin(), given.end(),
                  [](const auto& setting) { return setting.first == "framework"; })) {
    job.pinned.pp = std::max(job.pinned.pp, claim_cell(scenario).pp);
    job.with_recompute = true;
  } else {
    job.with_recompute = job.pinned.recompute != RecomputeKind::kNone;
  }
  job.pinned.recompute = RecomputeKind::kNone;
  validate(job.pinned);
  return job;
}

// Every minimal combination on every back end, as its own trials: they are none of the run's cells.
void triage_record(RunRecord& record, const Scenario& scenario, TrialOptions options,
                   const RuntimeChoice& choice) {
  int num_ranks = 1;
  for (const JobResult& job : record.jobs)
    for (const MinimalFinding& finding : job.minimal) {
      const Cell cell = cell_of(job.matrix, job.matrix.choices[finding.index]);
      num_ranks = std::max(num_ranks, cell.tp * cell.pp);
    }
  options.on_planned = {};
  options.on_done = {};
  const std::vector<TriageBackend> backends = triage_backends(options, choice, num_ranks);
  for (const JobResult& job : record.jobs) {
    record.triage.emplace_back();
    for (const MinimalFinding& finding : job.minimal)
      record.triage.back().push_back(triage(scenario, job, finding, backends));
  }
}

}  // namespace

struct RunCommand::Impl {
  std::string scenario = "skip_identity_leaf";
  std::string out;
  std::string from;
  std::size_t jobs = 0;
  RuntimeChoice choice;
  bool triage = false;
  double stall_seconds = 10.0;
  bool no_verify = false;
  std::vector<Field> own_toggles;  // outlives the flags
  ReportFlags report;
  std::unique_ptr<CellFlags> flags;
};

RunCommand::RunCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  CLI::App* sub = app.add_subcommand(
      "run",
      "Runs a scenario's matrix: which combination of switches fails, and which fix clears it.\n\n"
      "--pp N above 1 and --recompute put their switch INTO the matrix (off and on); the "
      "scenario's other switches "
      "(skip_c_identity, an operator before, a residual) are always in it; sizes and toggles "
      "beside them are pinned.\nExample: --tp 2 --pp 2 --recompute\n"
      "Exit status: 0 all came out as declared (the bug included), 1 not, 2 usage, 3 could not set "
      "up, 77 hardware "
      "missing.");
  sub->add_option("scenario", impl_->scenario, "which bug; `culprit list` names them all")
      ->capture_default_str();
  sub->add_option("--from", impl_->from,
                  "read sizes and switches from a launch script (bash; read, never run)")
      ->type_name("FILE")
      ->check(not_empty());
  sub->add_option("--out", impl_->out, "folder to write; must not exist (default repro-out/<time>)")
      ->type_name("DIR")
      ->check(not_empty());
  sub->add_option("--jobs", impl_->jobs, "cells at a time (default: one a core; on a GPU 1)")
      ->check(CLI::Range(1, 256));
  sub->add_option("--stall", impl_->stall_seconds,
                  "seconds without any rank finishing an operation: HANG")
      ->check(seconds_between(0.1, 3600.0))
      ->capture_default_str();
  sub->add_flag("--triage", impl_->triage,
                "also run each minimal combination on every back end that is here: independent of "
                "back end, only with some, or timing only");
  sub->add_flag("--no-verify", impl_->no_verify,
                "write the stand-alone reproductions, but do not build and run them");
  add_runtime_flags(*sub, impl_->choice);
  impl_->report.add_to(*sub);
  impl_->own_toggles = all_own_toggles();
  impl_->flags = std::make_unique<CellFlags>(*sub, impl_->own_toggles);
}
RunCommand::~RunCommand() = default;

int RunCommand::run(const std::vector<std::string>& command) const {
  const auto start = std::chrono::steady_clock::now();
  Settings given = impl_->flags->given();
  // A bare --recompute before the scenario's name took that for its value.
  std::string scenario_name = impl_->scenario;
  for (auto& [name, value] : given)
    if (name == "recompute" && is_scenario(value))
      scenario_name = std::exchange(value, "reentrant");
  const Scenario& scenario = scenario_named(scenario_name);

  Redactor redactor = impl_->report.redactor();
  RunRecord record;
  record.started_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  record.scenario = &scenario;
  record.command = command;
  record.runtime_flags = impl_->choice.flags();
  std::vector<LaunchJob> jobs;
  if (impl_->from.empty()) {
    jobs.push_back(job_from_flags(scenario, given));
  } else {
    launch::LaunchMapping mapping = launch::map_launch(launch::read_launch_script(impl_->from));
    jobs = launch_jobs(mapping, given);
    record.launch = launch_notes(fs::path(impl_->from).filename().string(), mapping);
  }
  refuse_off_values(scenario, given);
  std::vector<Matrix> matrices;
  // A size that can't be judged is refused before anything is written.
  ReferenceCache references(scenario.model);  // the jobs of a launch script have one shape
  for (const LaunchJob& job : jobs) references.get(job.pinned);
  for (const LaunchJob& job : jobs)
    matrices.push_back(make_matrix(scenario, job.pinned, job.with_recompute));
  const fs::path bin = program_folder();
  record.bin_folder = shown_program_folder().string();

  // Opened here to find out before anything is written; the cells' processes open their own.
  const bool on_gpu = impl_->choice.device != "cpu";
  MpiLauncher launcher;
  std::string runtime;
  if (impl_->choice.comm == "mpi" && !on_gpu) {
    launcher = mpi_launcher();
    runtime = fmt::format("CPU, ranks as processes through MPI ({})", launcher.command[0]);
    record.ran_on = "MPI processes";
  } else {
    require_one_process(impl_->choice, "`culprit run`");
    runtime = open_runtime(impl_->choice)->description();
  }
  if (on_gpu)
    record.ran_on = impl_->choice.device + (impl_->choice.comm == "nccl" ? ", NCCL" : " threads");
  RunFolder folder(fs::path(impl_->out));
  StopSignal stop;
  ProgressBar bar(STDERR_FILENO, 0, "cells");
  std::size_t done = 0;
  std::string no_traces;  // why some are missing
  const Style style = Style::for_output(STDOUT_FILENO);
  try {
    const TrialOptions options{
         .program = bin / scenario.name,
         .flags = record.runtime_flags,
         .launcher = launcher.command,
         .environment = launcher.environment,
         .many_cells_a_process = on_gpu,
         .jobs = impl_->jobs > 0 ? impl_->jobs
                                 : (on_gpu ? 1 : std::max(1U, std::thread::hardware_concurrency())),
         .stall_deadline = std::chrono::milliseconds(static_cast<int>(impl_->stall_seconds * 1000)),
         .cancel_fd = stop.fd(),
         .on_outcome = [&](Outcome& outcome) { redactor.mask(outcome); },
         .on_planned = [&](std::size_t num_trials) { bar.set_total(num_trials); },
         .on_done =
             [&](const auto&, const Outcome&, const std::string& line) {
               folder.append_cell(line);
               bar.update(++done);
             }};
    TrialRunner runner(scenario.name, options);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      record.jobs.push_back(run_matrix(scenario, matrices[i], runner));
      record.jobs.back().title = jobs[i].title;
      // The verdict needs no trace, and is not to be lost with them (a full disk).
      try {
        trace_findings(record.jobs.back(), runner, folder.traces(),
                       trace_prefix(matrices.size(), i));
      } catch (const SetupError& error) {
        if (no_traces.empty()) no_traces = error.what();
      }
    }
    record.num_trials = runner.trials();
    // What the matrix found is kept if the triage is stopped.
    if (impl_->triage) try {
        triage_record(record, scenario, options, impl_->choice);
      } catch (const Stopped&) {
        record.triage.clear();
        bar.clear();
        print_error("culprit: stopped by a signal during the triage; all else is written\n");
      }
  } catch (const Stopped&) {
    bar.clear();
    print_error(fmt::format("culprit: stopped by a signal after {} cells; what ran is in {}\n",
                            done, (folder.path() / "cells.jsonl").string()));
    return kExitSetup;
  }
  bar.clear();
  record.environment = describe_environment(runtime);
  record.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}",
             console_report(record, style,
                            is_terminal(STDOUT_FILENO) ? terminal_columns(STDOUT_FILENO) : 160));
  if (!record.launch.file.empty())
    fmt::print(
        "\n{}: {} flags modelled, {} recognised but not modelled, {} not recognised or not known "
        "(listed in the "
        "report)\n",
        escape_controls(record.launch.file), record.launch.modelled.size(),
        record.launch.not_modelled.size(), record.launch.unknown.size());
  std::fflush(stdout);
  if (!no_traces.empty())
    print_error(fmt::format("culprit: traces are missing in what is written: {}\n",
                            escape_controls_keep_lines(no_traces)));
  // Reproductions take long: what is found is safe before they begin.
  impl_->report.write_record(folder.path(), record, redactor);
  WrittenReproductions reproductions = write_reproductions(record, folder.path());
  record.reproductions = reproductions.findings;
  const bool was_stopped = stop.is_stopped();
  if (!impl_->no_verify && !reproductions.files.empty()) {
    ProgressBar builds(STDERR_FILENO, 0, "reproductions");
    ReproCheckOptions options = default_check_options();
    options.cancel_fd = stop.fd();
    if (impl_->jobs > 0) options.jobs = impl_->jobs;
    options.on_done = [&](std::size_t number, std::size_t total) {
      builds.set_total(total);
      builds.update(number);
    };
    check_reproductions(reproductions, options);
    builds.clear();
    record.reproductions = reproductions.findings;
    if (stop.is_stopped() && !was_stopped)
      print_error("culprit: stopped by a signal while reproductions were built; all else is written\n");
  }
  impl_->report.write(folder.path(), record, redactor);

  impl_->report.print_written(folder.path(), record, redactor);
  if (!record.jobs.back().minimal.empty())
    fmt::print(
        "repeat one cell: {}\n",
        repeat_command(
            record,
            cell_of(record.jobs.back().matrix,
                    record.jobs.back().matrix.choices[record.jobs.back().minimal[0].index])));
  if (stop.is_stopped() || !no_traces.empty()) return kExitSetup;
  return record.as_declared() ? 0 : kExitUnexpected;
}

}  // namespace culprit
