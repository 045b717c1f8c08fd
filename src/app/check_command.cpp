#include "app/check_command.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <filesystem>

#include "app/cell_flags.hpp"
#include "app/target_flags.hpp"
#include "base/error.hpp"
#include "process/standard_streams.hpp"
#include "process/stop_signal.hpp"
#include "process/temporary_folder.hpp"
#include "target/bisect_status.hpp"
#include "target/command_runner.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace fs = std::filesystem;

struct CheckCommand::Impl {
  std::unique_ptr<TargetFlags> target;
  std::vector<std::string> settings;
  std::string fingerprint;
  std::size_t runs = 1;
};

CheckCommand::CheckCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  CLI::App* sub = app.add_subcommand(
      "check",
      "Runs one trial of a target of `culprit isolate`, for `git bisect run`.\n\n"
      "Example: git bisect run culprit check --command 'python train.py {toggles}' --toggle "
      "'skip=--skip|' --fingerprint 'EXIT:1:ValueError'\n"
      "Exit status: 0 it passes, 1 it fails with the fingerprint (without --fingerprint: in any "
      "way), "
      "125 it can't be told or it fails in another way.");
  in.target = std::make_unique<TargetFlags>(*sub);
  sub->add_option("--set", in.settings,
                  "a switch, size or fix at another value than the first (the reporter's)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--fingerprint", in.fingerprint,
                  "the failure looked for, or its beginning up to a ':' or '@'")
      ->type_name("F")
      ->check(not_empty());
  sub->add_option("--runs", in.runs,
                  "run so often, until it fails; for a failure that comes and goes")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
}
CheckCommand::~CheckCommand() = default;

int CheckCommand::run() const try {
  const Impl& in = *impl_;
  const ChosenTarget chosen = in.target->choose();
  const CommandTarget& target = *chosen.target;
  Assignment trial = target.reported();
  for (const std::string& text : in.settings) {
    const Setting setting = target.setting("--set", text);
    trial[setting.which] = setting.value;
  }
  const Constraint* broken = nullptr;
  if (!is_valid(target.trial_space(), trial, &broken))
    throw UsageError(fmt::format("--set: '{}' forbids this run", broken->text));
  const TemporaryFolder work(fs::temp_directory_path(), "culprit-check");
  StopSignal stop;
  CommandRunnerOptions options;
  options.work_directory = work.path().string();
  options.cancel_fd = stop.fd();

  fmt::print("{}\n", escape_controls(target.shell_line(trial)));
  int status = kExitCannotTell;
  std::size_t runs = 0;
  JudgedRun run;
  while (runs < in.runs && !stop.is_stopped()) {
    run = run_trial(target, trial, options);
    ++runs;
    status = bisect_status(run.trial, in.fingerprint);
    if (status != 0) break;
  }
  if (stop.is_stopped()) status = kExitCannotTell;
  const std::string times = runs > 1 ? fmt::format(" (run {} of {})", runs, in.runs) : "";
  if (status == 0)
    fmt::print("{}\n", in.runs > 1 ? fmt::format("not seen in {} runs", runs) : "passes");
  else if (status == 1)
    fmt::print("fails: {} ({}){}\n", escape_controls(run.trial.fingerprint),
               escape_controls(run.note), times);
  else
    fmt::print("cannot tell: {}{}\n",
               escape_controls(run.trial.status == Trial::Status::kFail
                                   ? "fails in another way: " + run.trial.fingerprint
                                   : run.note),
               times);
  return status;
} catch (const std::exception& error) {
  print_error(fmt::format("check: cannot tell: {}\n", escape_controls_keep_lines(error.what())));
  return kExitCannotTell;
}

}  // namespace culprit
