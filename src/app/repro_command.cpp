#include "app/repro_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "outcome/run_once.hpp"
#include "process/stop_signal.hpp"
#include "repro_files/check_repro_files.hpp"
#include "repro_files/repro_files.hpp"
#include "terminal/escape.hpp"
#include "terminal/style.hpp"

namespace culprit {
namespace fs = std::filesystem;

struct ReproCommand::Impl {
  std::string scenario;
  std::string out;
  bool no_verify = false;
  bool keep_sizes = false;
  std::vector<Field> own;  // the own toggles of all scenarios; outlives `flags`
  std::unique_ptr<CellFlags> flags;
};

ReproCommand::ReproCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  CLI::App* sub = app.add_subcommand(
      "repro",
      "Writes one failing cell as programs of their own: repro.py (the stock framework on the "
      "CPU), repro.cpp (one C++20 "
      "source without dependencies) and repro_test.cpp (a GoogleTest of the rule at fault). Each "
      "is built and run before it "
      "is offered.\n\n"
      "Without cell flags: the scenario's claim. Sizes are lowered as far as the failure stays.\n"
      "Example: culprit repro skip_identity_leaf --pp=1 --skip-c-identity --residual --out found\n"
      "repro.py runs on $CULPRIT_PYTHON, else python3, where that has PaddlePaddle.\n"
      "Exit status: 0 all that ran showed the outcome, 1 not, 2 usage, 3 could not set up.");
  sub->add_option("scenario", impl_->scenario, "which bug; `culprit list` names them all")
      ->required();
  sub->add_option("--out", impl_->out, "folder to write; must not exist")
      ->required()
      ->type_name("DIR")
      ->check(not_empty());
  sub->add_flag("--no-verify", impl_->no_verify, "only write the files; build and run nothing");
  sub->add_flag("--keep-sizes", impl_->keep_sizes,
                "keep ranks, micro-batches and blocks as they are given");
  impl_->own = all_own_toggles();
  impl_->flags = std::make_unique<CellFlags>(*sub, impl_->own);
}
ReproCommand::~ReproCommand() = default;

namespace {

std::string status_word(const ReproCheck& check, const Style& style) {
  switch (check.status) {
    case ReproCheck::Status::kShown:
      return style.mark(Tone::kPass, "shown");
    case ReproCheck::Status::kNotShown:
      return style.mark(Tone::kFail, "not shown");
    case ReproCheck::Status::kNotRun:
      return style.mark(Tone::kUnknown, "not run here");
    case ReproCheck::Status::kRefused:
      return style.mark(Tone::kUnknown, "not written");
  }
  return "";
}

}  // namespace

int ReproCommand::run() const {
  const Scenario& scenario = scenario_named(impl_->scenario);
  const Settings given = impl_->flags->given();
  Cell cell;
  if (given.empty())
    cell = claim_cell(scenario);
  else
    apply_settings(scenario, cell, given);
  validate(cell);
  const fs::path out(impl_->out);
  std::error_code error;
  if (fs::exists(fs::symlink_status(out, error)))
    throw UsageError(fmt::format("{}: exists already; choose another --out", out.string()));

  const ReproRequest as_given{scenario, cell, run_once(scenario.model, cell), ""};
  if (as_given.outcome.outcome == OutcomeClass::kPass)
    throw UsageError(
        "this cell passes: there is nothing to reproduce; give the flags of a failing cell");
  const ReproRequest request = impl_->keep_sizes ? as_given : at_smallest_sizes(as_given);
  const std::vector<ReproResult> files = make_repro_files(request);
  const bool any_written = std::any_of(files.begin(), files.end(), [](const ReproResult& result) {
    return std::holds_alternative<ReproFile>(result);
  });
  write_repro_files(out, files);

  std::string flags;
  for (const std::string& flag : to_flags(request.cell)) flags += " " + flag;
  fmt::print("{}{}: {}{}{}\n", scenario.name, flags, row_of(request.outcome.outcome).name,
             request.outcome.kind.empty() ? "" : " ", request.outcome.kind);
  std::vector<ReproCheck> checks;
  if (impl_->no_verify) {
    for (const ReproResult& result : files) {
      const auto* refusal = std::get_if<ReproRefusal>(&result);
      checks.push_back(
          {.name = name_of(result),
           .status = refusal ? ReproCheck::Status::kRefused : ReproCheck::Status::kNotRun,
           .words = refusal ? refusal->reason : "--no-verify",
           .output_tail = {}});
    }
  } else {
    StopSignal stop;
    ReproCheckOptions options = default_check_options();
    options.cancel_fd = stop.fd();
    checks = check_repro_files(files, options);
  }
  const Style style = Style::for_output(STDOUT_FILENO);
  bool all_shown = true;
  for (const ReproCheck& check : checks) {
    fmt::print("{:<15} {}: {}{}\n", check.name, status_word(check, style),
               escape_controls(check.words), check.from_cache ? " (seen before)" : "");
    if (check.status != ReproCheck::Status::kNotShown) continue;
    all_shown = false;
    fmt::print("{}\n", escape_controls_keep_lines(check.output_tail));
  }
  if (any_written) fmt::print("in {}\n", escape_controls(out.string()));
  return all_shown ? 0 : kExitUnexpected;
}

}  // namespace culprit
