#include "report/markup.hpp"

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

}  // namespace culprit
