#include "app/run_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "app/launch_jobs.hpp"
#include "app/runtime_flags.hpp"
#include "base/error.hpp"
#include "matrix/run_matrix.hpp"
#include "process/stop_signal.hpp"
#include "report/console_report.hpp"
#include "report/wording.hpp"
#include "report/write_report.hpp"
#include "terminal/escape.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/style.hpp"
#include "terminal/terminal.hpp"

namespace culprit {
namespace fs = std::filesystem;

struct RunCommand::Impl {
  std::string scenario = "skip_identity_leaf";
  std::string out;
  std::string from;
  std::size_t jobs = 0;
  RuntimeChoice choice;
  double stall_seconds = 10.0;
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
      ->type_name("FILE");
  sub->add_option("--out", impl_->out, "folder to write; must not exist (default repro-out/<time>)")
      ->type_name("DIR");
  sub->add_option("--jobs", impl_->jobs, "cells at a time (default: one a core; on a GPU 1)")
      ->check(CLI::Range(1, 256));
  sub->add_option("--stall", impl_->stall_seconds,
                  "seconds without any rank finishing an operation: HANG")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  add_runtime_flags(*sub, impl_->choice);
  impl_->flags = std::make_unique<CellFlags>(*sub);
}
RunCommand::~RunCommand() = default;

namespace {

bool was_given(const Settings& given, const std::string& name) {
  for (const auto& [which, value] : given)
    if (which == name) return true;
  return false;
}

// The one job of a run without a launch script. Without any flag the claim's switches are the
// matrix.
LaunchJob job_from_flags(const Scenario& scenario, const Settings& given) {
  LaunchJob job;
  if (given.empty()) {
    job.pinned.pp = std::max(job.pinned.pp, claim_cell(scenario).pp);
    job.with_recompute = true;
  } else {
    apply_settings(scenario, job.pinned, given);
    job.with_recompute = job.pinned.recompute != RecomputeKind::kNone;
  }
  job.pinned.recompute = RecomputeKind::kNone;
  validate(job.pinned);
  return job;
}

}  // namespace

int RunCommand::run(const std::vector<std::string>& command) const {
  const auto start = std::chrono::steady_clock::now();
  const Scenario& scenario = scenario_named(impl_->scenario);
  const Settings given = impl_->flags->given();

  RunRecord record;
  record.scenario = &scenario;
  record.command = command;
  record.runtime_flags = impl_->choice.flags();
  std::vector<LaunchJob> jobs;
  if (impl_->from.empty()) {
    jobs.push_back(job_from_flags(scenario, given));
  } else {
    if (!given.empty() &&
        (was_given(given, "tp") || was_given(given, "pp") || was_given(given, "acc")))
      throw UsageError("--from takes tp, pp and acc from the launch script; leave these flags out");
    const launch::LaunchMapping mapping =
        launch::map_launch(launch::read_launch_script(impl_->from));
    record.launch = launch_notes(fs::path(impl_->from).filename().string(), mapping);
    jobs = launch_jobs(mapping);
    for (LaunchJob& job : jobs) {
      for (const auto& [name, value] : given) field(name).set(job.pinned, value);
      job.with_recompute |= job.pinned.recompute != RecomputeKind::kNone;
      job.pinned.recompute = RecomputeKind::kNone;
      validate(job.pinned);
    }
  }
  std::vector<Matrix> matrices;
  for (const LaunchJob& job : jobs)
    matrices.push_back(make_matrix(scenario, job.pinned, job.with_recompute));
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  std::error_code no_error;
  const fs::path shown_bin = fs::relative(bin, fs::current_path(), no_error);
  record.bin_folder = no_error || shown_bin.empty() ? bin.string() : shown_bin.string();

  // Opened here to find out before anything is written; the cells' processes open their own.
  const std::string runtime = open_runtime(impl_->choice)->description();
  const bool on_gpu = impl_->choice.device != "cpu";
  record.many_cells_a_process = on_gpu;
  if (on_gpu)
    record.ran_on = impl_->choice.device + (impl_->choice.comm == "nccl" ? ", NCCL" : " threads");
  RunFolder folder(impl_->out.empty() ? default_run_folder() : fs::path(impl_->out));
  StopSignal stop;
  ProgressBar bar(STDERR_FILENO, 0, "cells");
  std::size_t done = 0;
  const Style style = Style::for_output(STDOUT_FILENO);
  try {
    TrialRunner runner(
        scenario.name,
        {.program = bin / scenario.name,
         .flags = record.runtime_flags,
         .many_cells_a_process = on_gpu,
         .jobs = impl_->jobs > 0 ? impl_->jobs
                                 : (on_gpu ? 1 : std::max(1U, std::thread::hardware_concurrency())),
         .stall_deadline = std::chrono::milliseconds(static_cast<int>(impl_->stall_seconds * 1000)),
         .cancel_fd = stop.fd(),
         .on_planned = [&](std::size_t num_trials) { bar.set_total(num_trials); },
         .on_done =
             [&](const auto&, const Outcome&, const std::string& line) {
               folder.append_cell(line);
               bar.update(++done);
             }});
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      record.jobs.push_back(run_matrix(scenario, matrices[i], runner));
      record.jobs.back().title = jobs[i].title;
      trace_findings(record.jobs.back(), runner, folder.traces(),
                     matrices.size() > 1 ? fmt::format("job{}_", i + 1) : "");
    }
    record.num_trials = runner.trials();
  } catch (const Stopped&) {
    bar.clear();
    fmt::print(stderr, "culprit: stopped by a signal after {} cells; what ran is in {}\n", done,
               (folder.path() / "cells.jsonl").string());
    return kExitSetup;
  }
  bar.clear();
  record.environment = describe_environment(runtime);
  record.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  folder.write_report(record);

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
  fmt::print("\nreport: {} (paste it), report.json, junit.xml\n",
             escape_controls((folder.path() / "report.md").string()));
  if (!record.jobs.back().minimal.empty())
    fmt::print(
        "repeat one cell: {}\n",
        repeat_command(
            record,
            cell_of(record.jobs.back().matrix,
                    record.jobs.back().matrix.choices[record.jobs.back().minimal[0].index])));
  return record.as_declared() ? 0 : kExitUnexpected;
}

}  // namespace culprit
