#include "app/target_flags.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "app/cell_flags.hpp"
#include "app/launch_jobs.hpp"
#include "app/launch_target.hpp"
#include "app/shown_program_folder.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

constexpr const char* kDefaultScenario = "skip_identity_leaf";

}  // namespace

struct TargetFlags::Impl {
  CommandSpec spec;
  std::vector<std::string> sizes, fixes, environment_fixes;
  std::string scenario, from, timeout, stall;
  std::vector<std::string> vary;
  int np = 0;
  bool without_error_line = false;
  CLI::Option* np_option = nullptr;
  std::vector<CLI::Option*> command_only;
  std::unique_ptr<CellFlags> cell;
};

TargetFlags::TargetFlags(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  Impl& in = *impl_;
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* type,
                        const char* help) {
    return app.add_option(name, values, help)->type_name(type)->allow_extra_args(false);
  };
  const char* group = "Target: a command";
  in.command_only = {
      app.add_option("--command", in.spec.command,
                     "what a trial runs, with {toggles} or {NAME}, {dump.json}, {np}; no shell")
          ->type_name("TEMPLATE"),
      list("--toggle", in.spec.toggles, "NAME=VALUE|VALUE",
           "a switch: the reporter's value first, off last; VALUE is text for the command"),
      list("--env-toggle", in.spec.environment_toggles, "VARIABLE=VALUE|VALUE",
           "the same for an environment variable; an empty value unsets it"),
      list("--requires", in.spec.requires_rules, "'A=VALUE -> B=VALUE'",
           "whoever has the left has the right"),
      list("--excludes", in.spec.excludes_rules, "'A=VALUE, B=VALUE'", "not all of these together"),
      list("--size", in.sizes, "NAME=CURRENT:MIN",
           "a size that goes down once the switches are found (or NAME=8|4|2|1)"),
      list("--fix", in.fixes, "NAME=TEXT",
           "a candidate fix: text added behind the toggles; NAME:TOGGLE=TEXT replaces a toggle's"),
      list("--env-fix", in.environment_fixes, "VARIABLE=TEXT",
           "a candidate fix that sets a variable"),
      app.add_option("--launcher", in.spec.launcher,
                     "what starts the command, with {cmd} and {np}: 'mpirun -np {np} {cmd}'")
          ->type_name("TEMPLATE"),
      in.np_option = app.add_option("--np", in.np, "number for {np}")->type_name("N"),
      list("--fail-regex", in.spec.fail_patterns, "NAME=RE",
           "a run fails with MATCH:NAME when a line of its output matches"),
      app.add_option("--skip-status", in.spec.unresolved_statuses,
                     "an exit status that says nothing (beside 77, 125, 126, 127)")
          ->type_name("N")
          ->allow_extra_args(false),
      app.add_option("--dump", in.spec.dump_path,
                     "a file that the program always writes: compared with the reference run's")
          ->type_name("FILE"),
      app.add_option("--rtol", in.spec.tolerance.rtol, "tolerance of dumps, relative")
          ->capture_default_str(),
      app.add_option("--atol", in.spec.tolerance.atol, "tolerance of dumps, absolute")
          ->capture_default_str(),
      app.add_flag("--no-error-line", in.without_error_line,
                   "leave the program's error line out of fingerprints"),
  };
  for (CLI::Option* option : in.command_only) option->group(group);
  app.add_option("--timeout", in.timeout,
                 "of a trial: 90s, 1.5m, 2h (default: ten times the slowest passing run, at least "
                 "10 s)")
      ->type_name("DURATION");
  app.add_option("--stall", in.stall,
                 "without output or progress for so long: a hang (default: a command's is not "
                 "watched, a scenario's 10s)")
      ->type_name("DURATION");
  const char* scenario_group = "Target: a scenario of this project";
  app.add_option("--scenario", in.scenario, "which one; `culprit list` names them all")
      ->type_name("NAME")
      ->check(not_empty())
      ->group(scenario_group);
  list("--vary", in.vary, "NAME[=VALUE|VALUE]", "one more size or toggle as a switch; off last")
      ->group(scenario_group);
  app.add_option("--from", in.from,
                 "take sizes and switches from a launch script (bash; read, never run)")
      ->type_name("FILE")
      ->check(not_empty())
      ->group(scenario_group);
  in.cell = std::make_unique<CellFlags>(app);
}
TargetFlags::~TargetFlags() = default;

bool TargetFlags::is_given() const {
  return !impl_->spec.command.empty() || !impl_->scenario.empty() || !impl_->from.empty();
}

ChosenTarget TargetFlags::choose() const {
  const Impl& in = *impl_;
  ChosenTarget chosen;
  const Settings given = in.cell->given();
  const bool is_scenario = !in.scenario.empty() || !in.from.empty();
  if (!is_given())
    throw UsageError("no target: expected --command TEMPLATE, --scenario NAME or --from SCRIPT");
  CommandSpec spec = in.spec;
  if (is_scenario) {
    for (const CLI::Option* option : in.command_only)
      if (option->count() > 0)
        throw UsageError(
            fmt::format("{} belongs to --command, not to a scenario", option->get_name()));
    chosen.scenario =
        &scenario_named(in.scenario.empty() ? std::string(kDefaultScenario) : in.scenario);
    chosen.request = {
        .given = given, .vary = in.vary, .program = shown_program_folder() / chosen.scenario->name};
    if (!in.from.empty()) {
      launch::LaunchScript script = launch::read_launch_script(in.from);
      launch::LaunchMapping mapping = launch::map_launch(script);
      complete_sizes(mapping, given);
      add_launch(mapping, chosen.request);
      chosen.launch = LaunchInput{std::move(script), std::move(mapping)};
    }
    spec = scenario_command(*chosen.scenario, chosen.request);
  } else {
    if (!given.empty() || !in.vary.empty())
      throw UsageError(fmt::format("--{} belongs to --scenario; a command's sizes are --size",
                                   given.empty() ? "vary" : given.front().first));
    for (const std::string& text : in.sizes) spec.sizes.push_back(parse_size(text));
    for (const std::string& text : in.fixes) spec.fixes.push_back(parse_fix(text));
    for (const std::string& text : in.environment_fixes)
      spec.fixes.push_back(parse_environment_fix(text));
    if (in.np_option->count() > 0) spec.np = in.np;
    spec.has_error_lines = !in.without_error_line;
  }
  if (!in.timeout.empty()) spec.timeout = parse_duration("--timeout", in.timeout);
  if (!in.stall.empty()) spec.stall = parse_duration("--stall", in.stall);
  chosen.target = std::make_unique<CommandTarget>(std::move(spec));
  return chosen;
}

}  // namespace culprit
