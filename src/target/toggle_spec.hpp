// The switches of a command, as flags describe them: --toggle, --env-toggle, --requires, --excludes
// -> a Space, and for each switch what its values stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isolate/space.hpp"

namespace culprit {

struct Toggle {
  std::string name;  // also the placeholder, or the environment variable
  bool is_environment = false;
  std::vector<std::string> texts;  // what each value inserts; empty: nothing, or the variable unset
  std::vector<std::string>
      values;  // the values' names in Space: the text, "off" or "unset" for an empty one
};

// NAME=VALUE|VALUE[|VALUE...]: the reporter's setting first, off last. In a value \| stands for |
// and \\ for
// \. NAME: a letter or _, then letters, digits and _ . - (no . or - for an environment variable).
// UsageError: no '=', a bad or reserved name, fewer than two values, equal values.
Toggle parse_toggle(std::string_view text);
Toggle parse_environment_toggle(std::string_view text);

// A letter or _, then letters, digits and _ . -
bool is_toggle_name(std::string_view name);
// The names that a template uses for other things than toggles: toggles, fixes, cmd, dump.
bool is_reserved_name(std::string_view name);

// "NAME=VALUE" as a setting; VALUE is a value's text or name. UsageError naming `flag`: an unknown
// toggle (with the nearest), an unknown value (with all of them).
Setting parse_setting(std::string_view flag, std::string_view text,
                      const std::vector<Toggle>& toggles);

// "A=VALUE -> B=VALUE": whoever has A=VALUE must have B=VALUE. "A=VALUE, B=VALUE[, ...]": not all
// together. VALUE is a value's text or name; blanks around '=', ',' and '->' do not count. Each
// throws UsageError for an unknown toggle (naming the nearest) or value (listing them), and for a
// rule about one toggle alone.
std::vector<Constraint> parse_requires(std::string_view text, const std::vector<Toggle>& toggles);
Constraint parse_excludes(std::string_view text, const std::vector<Toggle>& toggles);

// True when no constraint forbids the assignment; else `broken`, where given, gets the first that
// does.
bool is_valid(const Space& space, const Assignment& assignment,
              const Constraint** broken = nullptr);

// The toggles as a space. UsageError: no toggle, equal names, constraints that forbid the
// reporter's own setting (all first values) or the reference (all off).
Space make_space(const std::vector<Toggle>& toggles, std::vector<Constraint> constraints);

}  // namespace culprit
