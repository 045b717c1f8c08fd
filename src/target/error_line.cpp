#include "target/error_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ascii.hpp"
#include "terminal/escape.hpp"

namespace culprit {
namespace {

constexpr int kMaxColumns = 160;
constexpr std::size_t kMaxErrorBytes = 4096;

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string without_colour(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b' && at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && !(text[at] >= '@' && text[at] <= '~')) ++at;
    } else {
      result += text[at];
    }
  }
  return result;
}

// "[rank0]: x", "[1,0]<stderr>:x", "[default0]:x", "0: x" -> "x"
std::string_view without_rank(std::string_view line) {
  const auto skip_blanks = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  };
  if (line.starts_with('[')) {
    const std::size_t end = line.find(']');
    if (end == std::string_view::npos || end > 24) return line;
    std::string_view rest = line.substr(end + 1);
    for (const std::string_view stream : {"<stderr>", "<stdout>"})
      if (rest.starts_with(stream)) rest.remove_prefix(stream.size());
    return rest.starts_with(':') ? skip_blanks(rest.substr(1)) : line;
  }
  std::size_t digits = 0;
  while (digits < line.size() && is_digit(line[digits])) ++digits;
  if (digits > 0 && digits < 6 && line.substr(digits).starts_with(": "))
    return skip_blanks(line.substr(digits + 1));
  return line;
}

// "torch.cuda.OutOfMemoryError: ..." or "AssertionError" alone.
bool is_exception(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && (is_word(line[end]) || line[end] == '.')) ++end;
  if (end < line.size() && line[end] != ':') return false;
  const std::string_view name = line.substr(0, end);
  return !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
         (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Interrupt") ||
          name.ends_with("Fault") || name.ends_with("Failure") || name.ends_with("NotMet"));
}

bool speaks_of_error(std::string_view line) {
  constexpr std::array<std::string_view, 8> kWords{"error",     "fatal", "assert", "abort",
                                                   "exception", "fault", "failed", "invalid"};
  const std::string text = lower(line);
  if (text.starts_with("traceback") || text.find("warning") != std::string::npos) return false;
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

template <typename Predicate>
std::string first_line(std::string_view text, Predicate is_wanted) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string plain = without_colour(text.substr(0, std::min(end, kMaxErrorBytes)));
    std::string_view line = without_rank(plain);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty() && is_wanted(line)) return std::string(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

// A code such as the 700 of "CUDA error 700" or "(error code: -11)" tells failures apart.
bool is_code(std::string_view before) {
  while (!before.empty() && (before.back() == ' ' || before.back() == ':' || before.back() == '=' ||
                             before.back() == '-'))
    before.remove_suffix(1);
  const std::string text =
      lower(before.substr(before.size() - std::min<std::size_t>(before.size(), 8)));
  for (const std::string_view word : {"error", "code", "status", "errno", "signal"})
    if (text.ends_with(word)) return true;
  return false;
}

// Masks one line from left to right; each take_ function consumes what it knows or returns false.
class Masker {
 public:
  explicit Masker(std::string_view line) : line_(line) {}
  std::string run() {
    while (at_ < line_.size())
      if (!take_path() && !take_hex() && !take_number()) result_ += line_[at_++];
    return std::move(result_);
  }

 private:
  char before() const { return at_ > 0 ? line_[at_ - 1] : ' '; }

  bool take_path() {
    if (line_[at_] != '/' || is_word(before()) || before() == '.' || before() == '/' ||
        before() == '>')
      return false;
    const std::size_t end = std::min(line_.find_first_of(" \t'\",:;()[]<>|", at_), line_.size());
    const std::string_view path = line_.substr(at_, end - at_);
    const std::size_t slash = path.rfind('/');
    if (path.size() < 2 || slash == 0 || slash + 1 == path.size()) return false;
    const bool is_temporary = path.starts_with("/tmp/") || path.starts_with("/var/tmp/") ||
                              path.starts_with("/dev/shm/") || path.starts_with("/run/") ||
                              path.starts_with("/proc/");
    result_ += is_temporary ? "<tmp>" : Masker(path.substr(slash + 1)).run();
    at_ = end;
    return true;
  }

  bool take_hex() {
    if (is_word(before())) return false;
    std::size_t end = at_;
    bool has_digit = false;
    if (line_.substr(at_).starts_with("0x")) {
      end += 2;
      has_digit = true;
    }
    const std::size_t begin = end;
    while (end < line_.size() && is_hex(line_[end])) has_digit |= is_digit(line_[end++]);
    const std::size_t needed = begin > at_ ? 1 : 8;
    const bool is_decimal =
        begin == at_ && std::all_of(line_.begin() + at_, line_.begin() + end, is_digit);
    if (end - begin < needed || !has_digit || is_decimal ||
        (end < line_.size() && is_word(line_[end])))
      return false;
    result_ += '#';
    at_ = end;
    take_uuid_groups();
    return true;
  }

  // The "-99aa-0001" after the first group of a UUID.
  void take_uuid_groups() {
    while (at_ < line_.size() && line_[at_] == '-') {
      std::size_t end = at_ + 1;
      while (end < line_.size() && is_hex(line_[end])) ++end;
      if (end - at_ < 5 || (end < line_.size() && is_word(line_[end]))) return;
      at_ = end;
    }
  }

  bool take_number() {
    if (!is_digit(line_[at_])) return false;
    const auto skip_digits = [&](std::size_t from) {
      while (from < line_.size() && is_digit(line_[from])) ++from;
      return from;
    };
    std::size_t end = skip_digits(at_);
    const bool is_kept =
        (is_word(before()) && end - at_ <= 3) || (end - at_ <= 4 && is_code(line_.substr(0, at_)));
    if (is_kept) {
      result_ += line_.substr(at_, end - at_);
      at_ = end;
      return true;
    }
    while (end + 1 < line_.size() && line_[end] == '.' && is_digit(line_[end + 1]))
      end = skip_digits(end + 1);
    if (end < line_.size() && (line_[end] == 'e' || line_[end] == 'E')) {
      const std::size_t sign =
          end + 1 < line_.size() && (line_[end + 1] == '-' || line_[end + 1] == '+') ? 1 : 0;
      if (end + 1 + sign < line_.size() && is_digit(line_[end + 1 + sign]))
        end = skip_digits(end + 1 + sign);
    }
    if (before() == '-' && (at_ < 2 || !is_word(line_[at_ - 2])))
      result_.pop_back();  // a sign, not a hyphen
    result_ += '#';
    at_ = end;
    return true;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string find_error_line(std::string_view err, std::string_view out) {
  std::string line = first_line(err, is_exception);
  if (line.empty()) line = first_line(out, is_exception);
  if (line.empty()) line = first_line(err, speaks_of_error);
  return line;
}

std::string mask_volatile(std::string_view line) {
  return cut_to_width(
      escape_controls(Masker(line.substr(0, std::min(line.size(), kMaxErrorBytes))).run()),
      kMaxColumns);
}

}  // namespace culprit
