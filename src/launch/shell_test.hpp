// Evaluation of [ ... ], test and [[ ... ]] on expanded words.
#pragma once

#include <string>
#include <vector>

#include "launch/shell_value.hpp"

namespace culprit::launch::shell {

enum class Truth { kFalse, kTrue, kUnknown };

struct TestItem {
  std::string op;       // an operator of [[ ]] (&& || ( ) < >), else empty
  Value value;          // the word
  std::string pattern;  // the word as a pattern: quoted characters escaped
};

struct TestResult {
  Truth truth = Truth::kUnknown;
  bool assumed = false;  // an unset variable was taken as empty
};

// `double_bracket`: [[ ]] (patterns on the right of ==, empty counts as 0 in comparisons of
// numbers). File tests, =~ and all that depends on an unknown value give kUnknown.
TestResult evaluate_test(const std::vector<TestItem>& items, bool double_bracket,
                         const GapTable& gaps);

// The text with unset variables as empty; false if there is an unknown part.
bool text_of(const Value& value, const GapTable& gaps, std::string& text, bool& assumed);

inline Truth negate(Truth truth) {
  if (truth == Truth::kUnknown) return truth;
  return truth == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
}

}  // namespace culprit::launch::shell
