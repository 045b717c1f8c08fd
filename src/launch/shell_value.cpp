// Values with origins, gaps, and pattern matching.
#include "launch/shell_value.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace culprit::launch::shell {

void Value::append(const Value& other) {
  if (text.size() + other.text.size() > kMaxValueBytes) {
    throw ValueTooLong();
  }
  text += other.text;
  from.insert(from.end(), other.from.begin(), other.from.end());
  through.insert(through.end(), other.through.begin(), other.through.end());
  assumed = assumed || other.assumed;
}

Value Value::slice(std::size_t begin, std::size_t end) const {
  Value part;
  part.text = text.substr(begin, end - begin);
  part.from.assign(from.begin() + static_cast<std::ptrdiff_t>(begin),
                   from.begin() + static_cast<std::ptrdiff_t>(end));
  part.through.assign(through.begin() + static_cast<std::ptrdiff_t>(begin),
                      through.begin() + static_cast<std::ptrdiff_t>(end));
  part.assumed = assumed;
  return part;
}

namespace {
bool same_byte(const Value& a, std::size_t i, const Value& b, std::size_t j) {
  if (a.text[i] != b.text[j]) return false;
  return !is_gap(a.from[i]) || a.from[i] == b.from[j];
}
}  // namespace

bool Value::same_as(const Value& other) const {
  if (text.size() != other.text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!same_byte(*this, i, other, i)) return false;
  }
  return true;
}

Value GapTable::make(Gap gap) {
  if (gaps_.size() >= 100000) throw UsageError("[launch.read] more than 100000 unknown values");
  std::replace(gap.source.begin(), gap.source.end(), '\0', '?');
  gaps_.push_back(std::move(gap));
  Value value;
  value.push('\0', kGapBit | static_cast<std::uint32_t>(gaps_.size() - 1));
  return value;
}

void GapTable::add_site(std::uint32_t origin, SourceRange site) {
  constexpr std::size_t kMaxSites = 32;
  auto& sites = gaps_[origin & ~kGapBit].sites;
  if (sites.size() < kMaxSites && std::find(sites.begin(), sites.end(), site) == sites.end())
    sites.push_back(site);
}

const Gap* GapTable::first_unknown(const Value& value) const {
  for (const std::uint32_t origin : value.from) {
    if (is_gap(origin) && at(origin).kind == Gap::Kind::kUnknown) return &at(origin);
  }
  return nullptr;
}

const Gap* GapTable::first(const Value& value) const {
  for (const std::uint32_t origin : value.from) {
    if (is_gap(origin)) return &at(origin);
  }
  return nullptr;
}

Value literal(std::string_view text) {
  Value value;
  for (const char byte : text) value.push(byte, kNoOrigin);
  return value;
}

Value join(const Value& a, const Value& b, const Value& gap) {
  if (a.same_as(b)) return a;
  const std::size_t shorter = std::min(a.text.size(), b.text.size());
  std::size_t head = 0;
  while (head < shorter && same_byte(a, head, b, head)) ++head;
  std::size_t tail = 0;
  while (tail < shorter - head &&
         same_byte(a, a.text.size() - 1 - tail, b, b.text.size() - 1 - tail)) {
    ++tail;
  }
  // Where both alternatives end a word before they differ, the last common word is known.
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  const auto clean_left = [&](const Value& value) {
    return head == value.text.size() || blank(value.text[head]);
  };
  const auto clean_right = [&](const Value& value) {
    const std::size_t end = value.text.size() - tail;
    return end == 0 || blank(value.text[end - 1]);
  };
  const bool apart_left = head > 0 && !blank(a.text[head - 1]) && clean_left(a) && clean_left(b);
  const bool apart_right =
      tail > 0 && !blank(a.text[a.text.size() - tail]) && clean_right(a) && clean_right(b);
  Value joined = a.slice(0, head);
  if (apart_left) joined.push(' ', kNoOrigin);
  joined.append(gap);
  if (apart_right) joined.push(' ', kNoOrigin);
  joined.append(a.slice(a.text.size() - tail, a.text.size()));
  return joined;
}

namespace {
// Matches one pattern element at `p` against `byte`; sets `next` past the element.
bool match_one(std::string_view pattern, std::size_t p, char byte, std::size_t& next) {
  const char c = pattern[p];
  next = p + 1;
  if (c == '?') return true;
  if (c == '\\' && p + 1 < pattern.size()) {
    next = p + 2;
    return pattern[p + 1] == byte;
  }
  if (c != '[') return c == byte;
  std::size_t i = p + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (const std::size_t first = i; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= byte && byte <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == byte;
    }
  }
  if (i >= pattern.size()) return c == byte;  // no closing bracket: a plain '['
  next = i + 1;
  return found != negated;
}
}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && match_one(pattern, p, text[t], next)) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace culprit::launch::shell
