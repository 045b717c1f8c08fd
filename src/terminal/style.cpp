#include "terminal/style.hpp"

#include <array>
#include <cstddef>

#include "terminal/terminal.hpp"

namespace culprit {
namespace {

struct Row {
  const char* escape;
  const char* ascii;
  const char* utf8;
};

// In the order of Tone.
constexpr std::array<Row, 6> kRows{{
    {"\x1b[32m", "+", "\u2713"},
    {"\x1b[31m", "x", "\u2717"},
    {"\x1b[35m", "!", "!"},
    {"\x1b[33m", "?", "?"},
    {"\x1b[1m", "*", "\u2022"},
    {"\x1b[90m", "-", "\u00b7"},
}};

const Row& row(Tone tone) { return kRows[static_cast<std::size_t>(tone)]; }

}  // namespace

Style Style::for_output(int fd) { return {wants_colour(fd), is_utf8_locale()}; }

std::string Style::paint(Tone tone, std::string_view text) const {
  if (!has_colour_) return std::string(text);
  return row(tone).escape + std::string(text) + "\x1b[0m";
}

std::string_view Style::symbol(Tone tone) const {
  return has_utf8_ ? row(tone).utf8 : row(tone).ascii;
}

std::string Style::mark(Tone tone, std::string_view text) const {
  return paint(tone, std::string(symbol(tone)) + ' ' + std::string(text));
}

}  // namespace culprit
