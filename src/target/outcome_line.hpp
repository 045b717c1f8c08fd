// The JSON line that a scenario program of this project prints: its own judgement is better than
// ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace culprit {

struct OutcomeLine {
  bool has_passed = false;
  std::string
      fingerprint;      // as the program names it, else OUTCOME[:KIND][@PHASE]; empty for a pass
  std::string message;  // may be empty
};

// The last line of `out` that is a JSON object with "schema", "outcome" and "kind"; none where
// there is none.
std::optional<OutcomeLine> find_outcome_line(std::string_view out);

}  // namespace culprit
