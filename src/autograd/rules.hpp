// Where releases of a framework differ. Every other rule is the engine itself; a new release becomes a
// row of rules_of, and a new difference a field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

struct FrameworkRules {
  std::string name;
  // Rule 7: the new object handed out for an output marked as not in-place stops gradients.
  bool marked_output_stops_gradient = false;
  // Rule 18: a none saved through the saved-tensor hooks is allowed.
  bool hooks_accept_none = true;
};

// "paddle@3.3.1" (default) or "paddle@2.6.2". Errors: UsageError naming the known ones.
const FrameworkRules& rules_of(std::string_view framework);
std::vector<std::string> known_frameworks();

}  // namespace culprit
