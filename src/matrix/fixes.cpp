#include "matrix/fixes.hpp"

#include <algorithm>
#include <utility>

#include "autograd/rules.hpp"

namespace culprit {

const std::vector<Fix>& candidate_fixes() {
  static const std::vector<Fix> fixes{
      {"view", "a new handle", {{"identity", "view"}}},
      {"copy", "skip off", {{"identity", "copy"}}},
      {"detach", "a new object", {{"identity", "detach"}}},
      {"reshape", "to its own shape", {{"identity", "reshape"}}},
      {"mark_not_inplace", "the framework's mark", {{"identity", "mark_not_inplace"}}},
      {"operator before", "a scale by 1", {{"first_op", "scale"}}},
      {"overlap path", "one function", {{"path", "overlap"}}},
      {"other recompute kind", "", {}},
  };
  return fixes;
}

bool has_fix(const std::string& framework, const Fix& fix) {
  const bool marks = std::any_of(fix.settings.begin(), fix.settings.end(), [](const auto& setting) {
    return setting == std::pair<std::string, std::string>{"identity", "mark_not_inplace"};
  });
  return !marks || rules_of(framework).returned_input_is_inplace;
}

FixedCell apply_fix(const Fix& fix, const Cell& cell) {
  FixedCell fixed{.cell = cell, .applies = false};
  if (fix.settings.empty()) {
    if (cell.recompute == RecomputeKind::kNone) return fixed;
    fixed.cell.recompute = cell.recompute == RecomputeKind::kReentrant
                               ? RecomputeKind::kNonReentrant
                               : RecomputeKind::kReentrant;
  }
  for (const auto& [name, value] : fix.settings) field(name).set(fixed.cell, value);
  fixed.applies = has_fix(cell.framework, fix) && to_flags(fixed.cell) != to_flags(cell) &&
                  why_impossible(fixed.cell).empty();
  return fixed;
}

std::string_view effect_name(FixEffect effect) {
  switch (effect) {
    case FixEffect::kClears:
      return "clears";
    case FixEffect::kNoEffect:
      return "no effect";
    case FixEffect::kFailsDifferently:
      return "fails differently";
    case FixEffect::kTurnsSilent:
      return "turns silent";
    case FixEffect::kStillWrong:
      return "still wrong";
    case FixEffect::kBreaks:
      return "breaks a passing cell";
    case FixEffect::kNotApplicable:
      return "not applicable";
  }
  return "";
}

FixEffect classify_fix(const Outcome& before, const Outcome& after) {
  const bool passes = after.outcome == OutcomeClass::kPass;
  if (before.outcome == OutcomeClass::kPass)
    return passes ? FixEffect::kNotApplicable : FixEffect::kBreaks;
  if (passes) return FixEffect::kClears;
  const bool was_silent = row_of(before.outcome).silent;
  const bool is_silent = row_of(after.outcome).silent;
  if (before.outcome == after.outcome && before.kind == after.kind &&
      checksum_text(before) == checksum_text(after))
    return FixEffect::kNoEffect;
  if (is_silent) return was_silent ? FixEffect::kStillWrong : FixEffect::kTurnsSilent;
  return FixEffect::kFailsDifferently;
}

}  // namespace culprit
