// Text that remembers where each of its bytes is written in the script, and which bytes stand for
// something that is not known ("gaps"). Everything the evaluator computes with is made of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_script.hpp"

namespace culprit::launch::shell {

// Origins at or above this name a gap: kGapBit | index into GapTable. kNoOrigin is not one.
inline constexpr std::uint32_t kGapBit = 0x80000000u;
inline constexpr std::size_t kMaxValueBytes = std::size_t{1} << 18;

inline bool is_gap(std::uint32_t origin) { return origin >= kGapBit && origin != kNoOrigin; }

// A value would grow past kMaxValueBytes; who knows the line says it.
class ValueTooLong : public std::length_error {
 public:
  ValueTooLong() : std::length_error("a value of more than 262144 bytes") {}
};

struct Value {
  std::string text;                  // a gap is one NUL byte (the script itself can hold none)
  std::vector<std::uint32_t> from;   // script offset, kNoOrigin, or a gap
  std::vector<SourceRange> through;  // innermost expansion, see LaunchWord::through
  bool assumed = false;              // depends on something unset that was taken as empty or zero

  void push(char byte, std::uint32_t origin, SourceRange via = {}) {
    text.push_back(byte);
    from.push_back(origin);
    through.push_back(via);
  }
  void append(const Value& other);
  Value slice(std::size_t begin, std::size_t end) const;
  bool has_gap() const { return text.find('\0') != std::string::npos; }
  // Bytes equal and gaps the same; where they are written does not matter.
  bool same_as(const Value& other) const;
};

struct Gap {
  enum class Kind {
    kUnset,    // a variable the script never assigns: empty in a test, unknown as a flag's value
    kUnknown,  // a command's output, a value that depends on an unknown condition, ...
  };
  Kind kind = Kind::kUnknown;
  int line = 0;
  std::string source;  // as written: "$HOSTS", "$(nproc)"
  std::string reason;
  bool all_arguments = false;           // "$@" of the script: any number of words
  std::vector<SourceRange> sites = {};  // each place of the script that hands it on: "$A" in B=$A
};

class GapTable {
 public:
  // A one-byte value that stands for the gap.
  Value make(Gap gap);
  const Gap& at(std::uint32_t origin) const { return gaps_[origin & ~kGapBit]; }
  // Remembers a place that hands the gap on.
  void add_site(std::uint32_t origin, SourceRange site);
  // First gap of kind kUnknown, else null.
  const Gap* first_unknown(const Value& value) const;
  const Gap* first(const Value& value) const;

 private:
  std::vector<Gap> gaps_;
};

Value literal(std::string_view text);  // bytes with no origin

// What `a` and `b` have in common at both ends, with a gap for where they differ: the value of a
// variable after a condition that is not known.
Value join(const Value& a, const Value& b, const Value& gap);

// Bash pattern matching: * ? [set] and backslash; iterative, O(pattern x text).
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace culprit::launch::shell
