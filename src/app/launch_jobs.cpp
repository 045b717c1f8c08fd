#include "app/launch_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/error.hpp"

namespace culprit {
namespace {

struct ScriptSize {
  const char* name;
  const char* what;
  launch::Setting setting;
  std::optional<int> launch::LaunchMapping::*value;
};
constexpr ScriptSize kScriptSizes[] = {
    {"tp", "the tensor parallel degree", launch::Setting::kTp, &launch::LaunchMapping::tp},
    {"pp", "the number of pipeline stages", launch::Setting::kPp, &launch::LaunchMapping::pp},
    {"acc", "how many micro-batches a step has", launch::Setting::kAcc,
     &launch::LaunchMapping::acc},
};

std::string why_unknown(const launch::LaunchMapping& mapping, const ScriptSize& size) {
  for (const launch::MappedFlag& flag : mapping.flags) {
    if (flag.setting == size.setting && !flag.known)
      return fmt::format("line {}: {} {}: {}", flag.line, flag.name, flag.value.value_or(""),
                         flag.note);
  }
  const auto derived = [](const launch::LaunchNote& note) {
    return note.text.find("micro-batches can't be derived") != std::string::npos;
  };
  if (size.setting == launch::Setting::kAcc) {
    for (const auto* notes : {&mapping.unknowns, &mapping.notes}) {
      const auto found = std::find_if(notes->begin(), notes->end(), derived);
      if (found != notes->end()) return found->text;
    }
  }
  return "no flag that is known gives it";
}

}  // namespace

void complete_sizes(launch::LaunchMapping& mapping, const Settings& given) {
  for (const ScriptSize& size : kScriptSizes) {
    std::optional<int>& value = mapping.*size.value;
    const auto found = std::find_if(given.begin(), given.end(), [&](const auto& setting) {
      return setting.first == size.name;
    });
    if (value && found != given.end()) {
      throw UsageError(fmt::format("--from: the script says {} ({}); leave --{} out", size.what,
                                   *value, size.name));
    }
    if (value) continue;
    if (found == given.end()) {
      throw UsageError(fmt::format("--from: {} is not known from the script ({}); give --{} N",
                                   size.what, why_unknown(mapping, size), size.name));
    }
    const std::string& text = found->second;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
      throw UsageError(fmt::format("--{}: got {}, expected a whole number", size.name, text));
    value = number;
    mapping.notes.push_back({0, fmt::format("{} {}: from the command line", size.name, number)});
  }
}

std::vector<LaunchJob> launch_jobs(const launch::LaunchMapping& mapping) {
  Cell cell;
  cell.tp = mapping.tp.value_or(1);
  cell.pp = mapping.pp.value_or(1);
  cell.acc = mapping.acc.value_or(1);
  cell.blocks = default_blocks(cell.pp);
  cell.hidden = std::lcm(cell.hidden, cell.tp);
  if (mapping.loss_scale) cell.loss_scale = *mapping.loss_scale;
  if (mapping.delay_scale_loss.value_or(false)) cell.loss_division = LossDivision::kDelayed;
  cell.release = mapping.release_outputs.value_or(false) && cell.pp > 1;
  const bool with_recompute = mapping.recompute.value_or(false);

  LaunchJob identity{
      .title = "with the identity operator, as the quantised and quantised-LoRA layers do",
      .pinned = cell,
      .with_recompute = with_recompute};
  if (!mapping.async_all_reduce.value_or(false) || cell.tp == 1) return {identity};
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
    const std::string place = flag.file.empty() ? fmt::format("line {}", flag.line)
                                                : fmt::format("{} line {}", flag.file, flag.line);
    std::string text = flag.name + (flag.value ? " " + *flag.value : "") + " (" + place + ")";
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
