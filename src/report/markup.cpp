#include "report/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal/escape.hpp"

namespace culprit {

std::string xml_text(std::string_view raw) {
  std::string text;
  for (const char c : escape_controls(raw)) {
    switch (c) {
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '&':
        text += "&amp;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\'':
        text += "&#39;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string markdown_text(std::string_view raw) {
  std::string text;
  for (const char c : escape_controls(raw)) {
    if (c == '<')
      text += "&lt;";
    else if (c == '>')
      text += "&gt;";
    else if (c == '&')
      text += "&amp;";
    else if (std::string_view("\\`*_{}[]()#+!|~@").find(c) != std::string_view::npos)
      text += std::string("\\") + c;
    else
      text += c;
  }
  return text;
}

std::string markdown_code(std::string_view lines, std::string_view language) {
  std::string text = escape_controls_keep_lines(lines);
  if (!text.ends_with('\n')) text += '\n';
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{}{}\n{}{}\n", fence, language, text, fence);
}

std::string markdown_span(std::string_view raw) {
  std::string text = escape_controls(raw);
  std::replace(text.begin(), text.end(), '`', '\'');
  return "`" + text + "`";
}

}  // namespace culprit
