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
  // Where the cell passes under them: how many of named_rules() were tried, each by itself in the cell's own framework (0
  // for a framework that has taken over a rule already), and those that alone make the cell pass.
  std::size_t num_tried = 0;
  std::vector<std::size_t> rules;
};

// For each of `cells`, which fail: what the other framework makes of them, in batches so that trials run side by side.
// None where the cell runs under the other framework's rules already.
std::vector<std::optional<OtherFramework>> try_other_framework(const std::vector<Cell>& cells, TrialRunner& runner);

}  // namespace culprit
