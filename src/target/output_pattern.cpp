#include "target/output_pattern.hpp"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>

#include "base/ascii.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

constexpr std::size_t kMaxMatchedBytes = 64 << 10;

}  // namespace

struct OutputPattern::Compiled {
  regex_t regex{};
  int error;
  explicit Compiled(const std::string& text)
      : error(::regcomp(&regex, text.c_str(), REG_EXTENDED | REG_NOSUB)) {}
  ~Compiled() {
    if (error == 0) ::regfree(&regex);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

OutputPattern::OutputPattern(std::string_view text) {
  const std::size_t equals = text.find('=');
  name_ = text.substr(0, std::min(equals, text.size()));
  const bool is_name = !name_.empty() && std::all_of(name_.begin(), name_.end(), [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == '-';
  });
  if (equals == std::string_view::npos || !is_name || equals + 1 == text.size())
    throw UsageError(fmt::format(
        "--fail-regex: got '{}', expected NAME=RE with a NAME of letters, digits, _ . -", text));
  const std::string expression(text.substr(equals + 1));
  if (expression.find('\0') != std::string::npos)
    throw UsageError("--fail-regex: a NUL byte in the expression");
  compiled_ = std::make_shared<const Compiled>(expression);
  if (compiled_->error != 0) {
    char reason[200];
    ::regerror(compiled_->error, &compiled_->regex, reason, sizeof reason);
    throw UsageError(fmt::format("--fail-regex '{}': {}", text, reason));
  }
}

bool OutputPattern::matches(std::string_view text) const {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line.assign(text.substr(0, std::min(end, kMaxMatchedBytes)));
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (::regexec(&compiled_->regex, line.c_str(), 0, nullptr, 0) == 0) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace culprit
