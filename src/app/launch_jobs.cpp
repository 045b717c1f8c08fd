#include "app/launch_jobs.hpp"

#include <fmt/format.h>

#include <numeric>

namespace culprit {

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
