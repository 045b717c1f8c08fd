// Candidate fixes, tried at every minimal failing combination.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matrix/axes.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

struct Fix {
  std::string name;     // "view"
  std::string meaning;  // "a new handle"
  Settings settings;
};

// copy (skip off), view, detach, reshape, mark_not_inplace, an operator before, the overlap path, the other
// recompute kind (whose settings depend on the cell: none here).
const std::vector<Fix>& candidate_fixes();

// Whether the framework has what the fix needs: PyTorch takes no input for in-place without a mark and has no such mark
// against it (rule 21).
bool has_fix(const std::string& framework, const Fix& fix);

// The cell with the fix applied. Empty settings: the other recompute kind. `applies` is false when nothing
// changes, the framework lacks the fix or the result is impossible.
struct FixedCell {
  Cell cell;
  bool applies = false;
};
FixedCell apply_fix(const Fix& fix, const Cell& cell);

// kNotApplicable also where the cell passes without the fix and with it.
enum class FixEffect { kClears, kNoEffect, kFailsDifferently, kTurnsSilent, kStillWrong, kBreaks, kNotApplicable };
std::string_view effect_name(FixEffect effect);

// What a fix did to one cell, failing or (at another fan-out) passing before. Silent means wrong or missing numbers
// without an error.
FixEffect classify_fix(const Outcome& before, const Outcome& after);

// One fix at one failing cell.
struct FixTrial {
  bool applies = false;
  FixEffect effect = FixEffect::kNotApplicable;
  Cell cell;
  Outcome outcome;  // only where it applies
};

}  // namespace culprit
