// What a trial can change beside its toggles: sizes, tried once the switches are found, and
// candidate fixes. --size, --fix, --env-fix -> typed descriptions. docs/commands.md has the
// grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

// One size. `values` rise; the last is the reporter's, and the one that the search runs with.
struct SizeSpec {
  std::string name;  // also the placeholder
  std::vector<std::int64_t> values;
};

// One candidate fix.
struct CommandFix {
  enum class Kind {
    kAppend,       // `text` is added behind the toggles
    kReplace,      // `text` takes the place of toggle `where`'s value
    kEnvironment,  // variable `where` is set to `text` (unset when that is empty)
  };
  std::string name;
  Kind kind = Kind::kAppend;
  std::string where;
  std::string text;
  // kReplace: also where the toggle is off; else such a trial is none that the fix concerns.
  bool even_when_off = false;
  std::string meaning;  // for reports, may be empty

  bool operator==(const CommandFix&) const = default;
};

// "NAME=CURRENT:MIN", every whole number between the two, or "NAME=V|V[|V...]", the current one
// first and then falling. UsageError: no '=', a bad or reserved name, no number, a minimum that is
// not below the current value, more than 4,096 values.
SizeSpec parse_size(std::string_view text);

// "NAME=TEXT": kAppend; "NAME:TOGGLE=TEXT": kReplace. NAME: letters, digits, blanks and _ . -,
// beginning with a letter or digit. UsageError: no '=', a bad name, nothing to append.
CommandFix parse_fix(std::string_view text);
// "VARIABLE=TEXT": kEnvironment, its name "VARIABLE=TEXT".
CommandFix parse_environment_fix(std::string_view text);

}  // namespace culprit
