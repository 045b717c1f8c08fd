#include "app/launch_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace culprit {

namespace {

using launch::LaunchMapping;

// The first flag for one of the settings whose value is not known; null if there is none.
const launch::MappedFlag* unknown_flag(const LaunchMapping& mapping,
                                       const std::vector<launch::Setting>& settings) {
  for (const launch::MappedFlag& flag : mapping.flags)
    if (!flag.known && std::find(settings.begin(), settings.end(), flag.setting) != settings.end())
      return &flag;
  return nullptr;
}

std::string place_of(const launch::MappedFlag& flag) {
  return flag.file.empty() ? fmt::format("line {}", flag.line)
                           : fmt::format("{} line {}", flag.file, flag.line);
}

const std::string* value_in(const Settings& given, const std::string& name) {
  for (const auto& [which, value] : given)
    if (which == name) return &value;
  return nullptr;
}

// A size that decides the layout, and the flags that it comes from.
struct ScriptSize {
  const char* name;
  std::optional<int> LaunchMapping::*value;
  std::vector<launch::Setting> settings;
};
const std::vector<ScriptSize>& script_sizes() {
  using launch::Setting;
  static const std::vector<ScriptSize> sizes{
      {"tp", &LaunchMapping::tp, {Setting::kTp}},
      {"pp", &LaunchMapping::pp, {Setting::kPp}},
      {"acc", &LaunchMapping::acc, {Setting::kAcc, Setting::kMicroBatch, Setting::kGlobalBatch}}};
  return sizes;
}

std::string why_unknown(const LaunchMapping& mapping, const ScriptSize& size) {
  if (const launch::MappedFlag* flag = unknown_flag(mapping, size.settings))
    return fmt::format("{} ({}) is not known: {}", flag->name, place_of(*flag), flag->note);
  if (std::string_view(size.name) == "acc" && !mapping.why_no_acc.empty())
    return mapping.why_no_acc;
  return "the script does not say, and it can't be derived from what it says";
}

void refuse_what_the_script_decides(const Settings& given) {
  for (const char* name : {"path", "recompute"})
    if (value_in(given, name))
      throw UsageError(fmt::format("{}: --from takes it from the launch script; leave the flag out",
                                   field(name).flag()));
}

}  // namespace

void complete_sizes(LaunchMapping& mapping, const Settings& given) {
  for (const ScriptSize& size : script_sizes()) {
    std::optional<int>& value = mapping.*size.value;
    const std::string* said = value_in(given, size.name);
    if (value && said)
      throw UsageError(fmt::format("--{} {}: the launch script says {}; leave the flag out",
                                   size.name, *said, *value));
    // Through the table's own ranges, wherever it comes from.
    Cell checked;
    if (value) {
      field(size.name).set(checked, std::to_string(*value));
    } else if (said) {
      field(size.name).set(checked, *said);
      value = std::stoi(field(size.name).get(checked));
      mapping.notes.push_back({0, fmt::format("{} {}: from the command line", size.name, *value)});
    } else {
      throw UsageError(fmt::format("{}: {}; say it with --{} N beside --from",
                                   field(size.name).help, why_unknown(mapping, size), size.name));
    }
  }
}

std::vector<LaunchJob> launch_jobs(LaunchMapping& mapping, const Settings& given) {
  using launch::Setting;
  refuse_what_the_script_decides(given);
  complete_sizes(mapping, given);
  Cell cell;
  cell.tp = *mapping.tp;
  cell.pp = *mapping.pp;
  cell.acc = *mapping.acc;
  cell.blocks = default_blocks(cell.pp);
  cell.hidden = std::lcm(cell.hidden, cell.tp);
  if (mapping.loss_scale) field("loss_scale").set(cell, fmt::format("{}", *mapping.loss_scale));
  if (mapping.delay_scale_loss.value_or(false)) cell.loss_division = LossDivision::kDelayed;
  cell.release = mapping.release_outputs.value_or(false) && cell.pp > 1;
  for (const auto& [name, value] : given)
    if (name != "tp" && name != "pp" && name != "acc") field(name).set(cell, value);
  validate(cell);

  const bool with_recompute = mapping.recompute.value_or(
      unknown_flag(mapping, {Setting::kRecompute, Setting::kRecomputeGranularity}) != nullptr);
  const bool asynchronous = mapping.async_all_reduce.value_or(
      unknown_flag(mapping, {Setting::kAsyncAllReduce}) != nullptr);
  LaunchJob identity{
      .title = "with the identity operator, as the quantised and quantised-LoRA layers do",
      .pinned = cell,
      .with_recompute = with_recompute};
  if (!asynchronous || cell.tp == 1) return {identity};
  LaunchJob released{
      .title =
          "as the released column layer runs your script (asynchronous all-reduce: overlap path)",
      .pinned = cell,
      .with_recompute = with_recompute};
  released.pinned.path = ColumnPath::kOverlap;
  return {released, identity};
}

LaunchNotes launch_notes(const std::string& file, const launch::LaunchMapping& mapping) {
  LaunchNotes notes{
      .file = file, .dialect = mapping.dialect, .modelled = {}, .not_modelled = {}, .unknown = {}};
  for (const launch::MappedFlag& flag : mapping.flags) {
    std::string text =
        flag.name + (flag.value ? " " + *flag.value : "") + " (" + place_of(flag) + ")";
    if (!flag.note.empty()) text += ": " + flag.note;
    switch (flag.cls) {
      case launch::FlagClass::kSwitch:
      case launch::FlagClass::kSize:
        (flag.known ? notes.modelled : notes.unknown).push_back(text);
        break;
      case launch::FlagClass::kRecognised:
        notes.not_modelled.push_back(text);
        break;
      case launch::FlagClass::kUnknown:
        notes.unknown.push_back(text);
        break;
    }
  }
  for (const launch::LaunchNote& note : mapping.notes)
    notes.modelled.push_back(note.line ? fmt::format("{} (line {})", note.text, note.line)
                                       : note.text);
  for (const launch::LaunchNote& note : mapping.unknowns)
    notes.unknown.push_back(note.line ? fmt::format("{} (line {})", note.text, note.line)
                                      : note.text);
  return notes;
}

}  // namespace culprit
