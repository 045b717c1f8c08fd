// The JSON line that a scenario program of this project prints: its own judgement is better than
// ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit {

// What a run cost, by the line's own names (copied_bytes, peak_bytes, collectives, ...), in its
// order.
using TrialCost = std::vector<std::pair<std::string, std::int64_t>>;

struct OutcomeLine {
  bool has_passed = false;
  std::string
      fingerprint;      // as the program names it, else OUTCOME[:KIND][@PHASE]; empty for a pass
  std::string message;  // may be empty
  TrialCost cost;       // the whole numbers of the line's "cost", if it has one
};

// The last line of `out` that is a JSON object with "schema", "outcome" and "kind"; none where
// there is none.
std::optional<OutcomeLine> find_outcome_line(std::string_view out);

}  // namespace culprit
