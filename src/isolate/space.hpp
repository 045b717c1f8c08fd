// The space that isolation searches: switches with values, constraints between them, and what a
// trial of one assignment came to. Plain data; the search (search.hpp) and every target share it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace culprit {

// One switch. The first value is the reporter's setting, the last is off; at least two values, all
// different. A value is a name; what it stands for (flags, an environment variable) is the
// target's.
struct Switch {
  std::string name;
  std::vector<std::string> values;
};

// switch = value, as indices into Space::switches and Switch::values.
struct Setting {
  std::uint16_t which = 0;
  std::uint16_t value = 0;
  auto operator<=>(const Setting&) const = default;
};

// An assignment is invalid when it contains every setting of `all_of` (an `excludes` of two
// settings; a `requires` a=1 -> b=1 becomes {a=1, b=0} for each other value of b).
struct Constraint {
  std::vector<Setting> all_of;
  std::string text;  // as the user wrote it, for messages
};

struct Space {
  std::vector<Switch> switches;
  std::vector<Constraint> constraints;
};

// One value index a switch, in the order of Space::switches.
using Assignment = std::vector<std::uint16_t>;

// What one trial came to.
struct Trial {
  enum class Status {
    kPass,
    kFail,        // with a fingerprint; failures of different fingerprints are different findings
    kUnresolved,  // could not tell: the harness failed, or the run could not be judged
  };
  Status status = Status::kUnresolved;
  std::string fingerprint;  // class, kind, phase, place; only for kFail
};

// Runs the assignments of one batch (any order, in parallel if it likes) and returns their results
// in the batch's order. One assignment may be asked several times, within a batch or later: each
// time means one more run of it (repeats of a flaky failure), so an evaluator that answers from a
// journal hands out the n-th recorded run for the n-th request and never one recorded run twice.
// Returning fewer results than asked stops the search, which then returns what it has found so far
// (a signal, a spent clock). An exception passes through the search uncaught, and its findings are
// lost.
using Evaluate = std::function<std::vector<Trial>(std::span<const Assignment>)>;

}  // namespace culprit
