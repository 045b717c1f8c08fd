// A regular expression that marks a run as failed when a line of its output matches.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace culprit {

class OutputPattern {
 public:
  // NAME=RE, RE a POSIX extended regular expression. NAME (letters, digits, _ . -) goes into
  // fingerprints. UsageError with the library's reason. POSIX rather than std::regex, whose matcher
  // recurses for each character and overflows the stack on long lines.
  explicit OutputPattern(std::string_view text);

  const std::string& name() const { return name_; }
  // True when a line of `text` matches, of which the first 64 KiB are looked at.
  bool matches(std::string_view text) const;

 private:
  struct Compiled;
  std::string name_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace culprit
