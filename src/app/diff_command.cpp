#include "app/diff_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_status.hpp"
#include "report/run_diff.hpp"
#include "report/wording.hpp"
#include "terminal/escape.hpp"
#include "terminal/style.hpp"

namespace culprit {

struct DiffCommand::Impl {
  std::string before, after;
};

DiffCommand::DiffCommand(CLI::App& app) : impl_(std::make_unique<Impl>()) {
  CLI::App* sub = app.add_subcommand(
      "diff",
      "Says which cells came out otherwise in a second run of the same scenario: before and after "
      "a fix, on two "
      "framework versions or two machines.\nCells are compared by all sizes and toggles but the "
      "framework.\n"
      "Exit status: 0 nothing got worse, 1 a cell broke or turned silent, 2 usage, 3 a file is "
      "broken.");
  sub->add_option("before", impl_->before, "folder of the first run")
      ->required()
      ->type_name("RUN1");
  sub->add_option("after", impl_->after, "folder of the second run")->required()->type_name("RUN2");
}
DiffCommand::~DiffCommand() = default;

namespace {

Tone tone_of(CellChange::Kind kind) {
  switch (kind) {
    case CellChange::Kind::kBroken:
      return Tone::kFail;
    case CellChange::Kind::kTurnedSilent:
      return Tone::kSilent;
    case CellChange::Kind::kDiffers:
      return Tone::kUnknown;
    case CellChange::Kind::kFixed:
      return Tone::kPass;
  }
  return Tone::kUnknown;
}

// Whether `after` is a later release of the same framework ("paddle@3.3.1") than `before`.
bool is_later(const std::string& before, const std::string& after) {
  const auto parts = [](const std::string& release) {
    const std::size_t at = release.find('@');
    std::vector<int> numbers;
    std::istringstream text(release.substr(std::min(at, release.size() - 1) + 1));
    for (std::string part; std::getline(text, part, '.');)
      numbers.push_back(std::atoi(part.c_str()));
    return std::pair(release.substr(0, at), numbers);
  };
  const auto [old_name, old_numbers] = parts(before);
  const auto [new_name, new_numbers] = parts(after);
  return old_name == new_name && old_numbers < new_numbers;
}

// From a release to a later one: in or since which; else what happens under the other's rules.
std::string change_in_words(const CellChange& change, const RunDiff& diff) {
  if (diff.framework_after.empty()) return std::string(change_name(change.kind));
  const char* word = !is_later(diff.framework_before, diff.framework_after) ? "under"
                     : change.kind == CellChange::Kind::kFixed              ? "in"
                                                                            : "since";
  return fmt::format("{} {} {}", change_name(change.kind), word, diff.framework_after);
}

}  // namespace

int DiffCommand::run() const {
  const RunDiff diff = diff_runs(impl_->before, impl_->after);
  const Style style = Style::for_output(STDOUT_FILENO);
  fmt::print("{}: {} cells compared, {} came out otherwise\n", diff.scenario, diff.num_compared,
             diff.changes.size());
  for (const std::string& file : diff.cut_files)
    fmt::print("{}: the last line was cut short and is left out\n", escape_controls(file));
  if (!diff.framework_before.empty())
    fmt::print("framework: {} before, {} after\n", escape_controls(diff.framework_before),
               escape_controls(diff.framework_after));
  if (diff.only_before + diff.only_after > 0)
    fmt::print("not compared: {} cells of the first run only, {} of the second only\n",
               diff.only_before, diff.only_after);
  for (const CellChange& change : diff.changes)
    fmt::print("{}   {}\n                  {} -> {}\n",
               style.mark(tone_of(change.kind),
                          fmt::format("{:<13}", escape_controls(change_in_words(change, diff)))),
               escape_controls(change.cell), escape_controls(outcome_in_words(change.before)),
               escape_controls(outcome_in_words(change.after)));
  return diff.got_worse() ? kExitUnexpected : 0;
}

}  // namespace culprit
