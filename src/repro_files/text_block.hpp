// Blocks of program text whose lines are chosen by traits: what a reproduction doesn't need is not
// in it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace culprit {

// Names of what is so; a trait that is known but not so is in `known` only.
class Traits {
 public:
  void set(const std::string& name, bool is_so);
  // Errors: std::logic_error for a name that was never set (a misspelt trait in a text block).
  bool has(std::string_view name) const;

 private:
  std::map<std::string, bool, std::less<>> known_;
};

using TextValues = std::map<std::string, std::string, std::less<>>;

// `block` without the lines whose condition doesn't hold and with $NAME$ replaced by `values`.
//   %tp% line           only with the trait tp
//   %tp&!pp|wide% line  with tp and without pp, or with wide
// One line feed after the opening of a raw string is dropped. A line that is only $NAME$ takes the
// whole value, each line of it indented like the placeholder; an empty value takes the line away.
// Errors: std::logic_error for an unknown trait or value.
std::string render(std::string_view block, const Traits& traits, const TextValues& values);

// Text from outside as a string literal of Python and of C++, quotes included.
std::string source_string(std::string_view text);
// Text from outside for the middle of a one-line comment: no line ends, controls or directional
// marks are left.
std::string in_comment(std::string_view text);

}  // namespace culprit
