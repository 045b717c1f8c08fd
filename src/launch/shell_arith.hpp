// Bash integer arithmetic, without side effects other than assignments that the caller carries out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::launch::shell {

struct ArithContext {
  // Value of a variable; nullopt if it is not known or not an integer.
  std::function<std::optional<std::int64_t>(const std::string&)> lookup;
  // Called for =, +=, ++ ...; a nullopt value is "no longer known".
  std::function<void(const std::string&, std::optional<std::int64_t>)> assign;
};

// nullopt where the value is not known: an unknown variable, a syntax error, overflow, division by
// zero.
std::optional<std::int64_t> evaluate_arith(std::string_view text, const ArithContext& context);

// A decimal, octal (leading 0) or hexadecimal number that is the whole text, blanks around it
// allowed.
std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace culprit::launch::shell
