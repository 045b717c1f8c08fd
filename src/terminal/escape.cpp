#include "terminal/escape.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>

namespace culprit {
namespace {

struct Decoded {
  std::uint32_t point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// One character of UTF-8 by the standard: no overlong forms, no surrogates, nothing above U+10FFFF.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  std::uint32_t point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3F);
  }
  const bool is_overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  if (is_overlong || (point >= 0xD800 && point <= 0xDFFF) || point > 0x10FFFF) return {};
  return {point, length};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

template <std::size_t N>
bool contains(const Range (&ranges)[N], std::uint32_t point) {
  for (const Range& range : ranges)
    if (point >= range.first && point <= range.last) return true;
  return false;
}

// C1 controls, bidirectional controls, line and paragraph separators, and the byte order mark.
constexpr Range kUnsafe[] = {{0x80, 0x9F},     {0x061C, 0x061C}, {0x200E, 0x200F},
                             {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};
constexpr Range kZeroWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD},
                                {0x064B, 0x065F}, {0x200B, 0x200D}, {0x20D0, 0x20FF},
                                {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

int width_of(std::uint32_t point) {
  return contains(kZeroWidth, point) ? 0 : contains(kWide, point) ? 2 : 1;
}

std::string formatted(const char* format, unsigned value) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, format, value);
  return buffer;
}

std::string escape(std::string_view text, bool keeps_lines) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Decoded character = decode(text);
    const std::size_t bytes = character.bytes == 0 ? 1 : character.bytes;
    const std::uint32_t point = character.point;
    if (character.bytes == 0)
      result += formatted("\\x%02X", static_cast<unsigned char>(text[0]));
    else if (point == '\n')
      result += keeps_lines ? "\n" : "\\n";
    else if (point == '\t')
      result += "\\t";
    else if (point == '\r')
      result += "\\r";
    else if (point < 0x20 || point == 0x7F)
      result += formatted("\\x%02X", point);
    else if (contains(kUnsafe, point))
      result += formatted("\\u{%04X}", point);
    else
      result += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return result;
}

// How many bytes at the beginning fit in `columns`; `used` becomes the columns that they take.
std::size_t fitting_bytes(std::string_view text, int columns, int& used) {
  std::size_t at = 0;
  used = 0;
  while (at < text.size()) {
    const Decoded character = decode(text.substr(at));
    const int width = character.bytes == 0 ? 1 : width_of(character.point);
    if (used + width > columns) break;
    used += width;
    at += character.bytes == 0 ? 1 : character.bytes;
  }
  return at;
}

}  // namespace

std::string escape_controls(std::string_view text) { return escape(text, false); }
std::string escape_controls_keep_lines(std::string_view text) { return escape(text, true); }

int display_width(std::string_view text) {
  int used = 0;
  fitting_bytes(text, static_cast<int>(2 * text.size()), used);
  return used;
}

std::string cut_to_width(std::string_view text, int columns) {
  int used = 0;
  const std::size_t whole = fitting_bytes(text, columns, used);
  if (whole == text.size()) return std::string(text);
  if (columns < 4) return std::string(text.substr(0, whole));
  return std::string(text.substr(0, fitting_bytes(text, columns - 3, used))) + "...";
}

}  // namespace culprit
