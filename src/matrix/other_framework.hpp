// Whether a failure is one of the framework's rules: the same cell under another framework's.
#pragma once

#include <optional>
#include <vector>

#include "config/cell.hpp"
#include "matrix/trial_runner.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

// What a failing cell comes to under kComparedFramework's rules.
struct OtherFramework {
  Outcome outcome;
  // The first of named_rules() that alone makes the cell pass in its own framework; none where the cell fails under the
  // other one too, or no single rule does it.
  std::optional<std::size_t> rule;
};

// For each of `cells`, which fail: what the other framework makes of them, in batches so that trials run side by side.
// None where the cell runs under the other framework's rules already.
std::vector<std::optional<OtherFramework>> try_other_framework(const std::vector<Cell>& cells, TrialRunner& runner);

}  // namespace culprit
