#include "report/run_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "report/wording.hpp"

namespace culprit {
namespace {

constexpr double kSameNumber = 1e-2;  // relative: a wrong gradient that is wrong by as much

struct Side {
  std::string scenario;
  std::string framework;                               // of the run: its first cell's
  std::vector<std::pair<std::string, Outcome>> cells;  // by flags without the framework
  bool is_cut = false;
};

Side read_side(const std::filesystem::path& folder) {
  Side side;
  static const Cell defaults;
  const RecordedCells recorded = read_cells_file(folder);
  side.is_cut = recorded.is_cut;
  for (const RecordedCell& entry : recorded.cells) {
    if (!side.scenario.empty() && side.scenario != entry.scenario)
      throw UsageError(fmt::format("{}: holds cells of {} and {}", folder.string(), side.scenario,
                                   entry.scenario));
    side.scenario = entry.scenario;
    Cell cell;
    apply_settings(scenario_named(entry.scenario), cell, entry.settings);
    if (side.framework.empty()) side.framework = cell.framework;
    if (side.framework != cell.framework) continue;  // tried under another framework's rules
    cell.framework = defaults.framework;
    side.cells.emplace_back(shell_line(program_flags(cell)), entry.outcome);
  }
  if (side.cells.empty())
    throw UsageError(fmt::format("{}: holds no cell", (folder / "cells.jsonl").string()));
  return side;
}

bool is_silent(const Outcome& outcome) { return row_of(outcome.outcome).silent; }

// Whether two wrong gradients are wrong by another amount.
bool another_number(const Outcome& before, const Outcome& after) {
  if (!before.worst || !after.worst) return before.worst.has_value() != after.worst.has_value();
  if (std::isnan(*before.worst) || std::isnan(*after.worst))
    return std::isnan(*before.worst) != std::isnan(*after.worst);
  return std::abs(*before.worst - *after.worst) >
         kSameNumber * std::max(std::abs(*before.worst), std::abs(*after.worst));
}

void compare(const std::string& cell, const Outcome& before, const Outcome& after,
             std::vector<CellChange>& changes) {
  const bool passed = before.outcome == OutcomeClass::kPass,
             passes = after.outcome == OutcomeClass::kPass;
  if (passed && passes) return;
  CellChange change{
      .kind = CellChange::Kind::kDiffers, .cell = cell, .before = before, .after = after};
  if (passed)
    change.kind = CellChange::Kind::kBroken;
  else if (passes)
    change.kind = CellChange::Kind::kFixed;
  else if (!is_silent(before) && is_silent(after))
    change.kind = CellChange::Kind::kTurnedSilent;
  else if (fingerprint(before) == fingerprint(after) && !another_number(before, after))
    return;
  changes.push_back(std::move(change));
}

}  // namespace

bool RunDiff::got_worse() const {
  return std::any_of(changes.begin(), changes.end(), [](const CellChange& change) {
    return change.kind == CellChange::Kind::kBroken ||
           change.kind == CellChange::Kind::kTurnedSilent;
  });
}

RunDiff diff_runs(const std::filesystem::path& before_folder,
                  const std::filesystem::path& after_folder) {
  const Side before = read_side(before_folder), after = read_side(after_folder);
  if (before.scenario != after.scenario)
    throw UsageError(fmt::format(
        "{} is a run of {}, {} one of {}: cells of different models can't be compared",
        before_folder.string(), before.scenario, after_folder.string(), after.scenario));
  RunDiff diff;
  for (const auto& [side, folder] : {std::pair(&before, &before_folder), {&after, &after_folder}})
    if (side->is_cut) diff.cut_files.push_back((*folder / "cells.jsonl").string());
  diff.scenario = before.scenario;
  if (before.framework != after.framework) {
    diff.framework_before = before.framework;
    diff.framework_after = after.framework;
  }
  std::map<std::string, const Outcome*> later;
  for (const auto& [cell, outcome] : after.cells) later[cell] = &outcome;
  for (const auto& [cell, outcome] : before.cells) {
    const auto place = later.find(cell);
    if (place == later.end()) {
      ++diff.only_before;
      continue;
    }
    ++diff.num_compared;
    compare(cell, outcome, *place->second, diff.changes);
  }
  diff.only_after = after.cells.size() - diff.num_compared;
  if (diff.num_compared == 0)
    throw UsageError("the two runs have no cell in common: their sizes or pinned toggles differ");
  std::stable_sort(diff.changes.begin(), diff.changes.end(),
                   [](const CellChange& a, const CellChange& b) { return a.kind < b.kind; });
  return diff;
}

std::string_view change_name(CellChange::Kind kind) {
  switch (kind) {
    case CellChange::Kind::kBroken:
      return "broken";
    case CellChange::Kind::kTurnedSilent:
      return "turned silent";
    case CellChange::Kind::kDiffers:
      return "differs";
    case CellChange::Kind::kFixed:
      return "fixed";
  }
  return "";
}

}  // namespace culprit
