#include "repro_files/text_block.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "terminal/escape.hpp"

namespace culprit {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0;;) {
    const auto end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

bool holds(std::string_view condition, const Traits& traits) {
  bool any = false;
  for (const auto alternative : split(condition, '|')) {
    bool all = true;
    for (auto name : split(alternative, '&')) {
      const bool negated = name.starts_with('!');
      if (negated) name.remove_prefix(1);
      all &= traits.has(name) != negated;
    }
    any |= all;
  }
  return any;
}

const std::string& value_of(std::string_view name, const TextValues& values) {
  const auto place = values.find(name);
  if (place == values.end()) throw std::logic_error(fmt::format("text block: no value '{}'", name));
  return place->second;
}

std::string indented(const std::string& text, std::string_view indent) {
  std::string result;
  for (const auto line : split(text, '\n')) {
    if (!result.empty()) result += '\n';
    if (!line.empty()) result += std::string(indent) + std::string(line);
  }
  return result;
}

std::string substituted(std::string_view line, const TextValues& values) {
  std::string result;
  for (std::size_t i = 0; i < line.size();) {
    const auto end = line[i] == '$' ? line.find('$', i + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      result += line[i++];
      continue;
    }
    result += value_of(line.substr(i + 1, end - i - 1), values);
    i = end + 1;
  }
  return result;
}

}  // namespace

void Traits::set(const std::string& name, bool is_so) { known_[name] = is_so; }

bool Traits::has(std::string_view name) const {
  const auto place = known_.find(name);
  if (place == known_.end())
    throw std::logic_error(fmt::format("text block: unknown trait '{}'", name));
  return place->second;
}

std::string render(std::string_view block, const Traits& traits, const TextValues& values) {
  if (block.starts_with('\n')) block.remove_prefix(1);
  if (block.ends_with('\n')) block.remove_suffix(1);
  std::string text;
  for (auto line : split(block, '\n')) {
    if (line.starts_with('%')) {
      const auto end = line.find('%', 1);
      if (!holds(line.substr(1, end - 1), traits)) continue;
      line.remove_prefix(end + 1);
      if (line.starts_with(' ')) line.remove_prefix(1);
    }
    const auto start = line.find_first_not_of(' ');
    const auto content = start == std::string_view::npos ? std::string_view{} : line.substr(start);
    if (content.size() > 2 && content.front() == '$' &&
        content.find('$', 1) == content.size() - 1) {
      const std::string& value = value_of(content.substr(1, content.size() - 2), values);
      if (!value.empty()) text += indented(value, line.substr(0, start)) + "\n";
      continue;
    }
    text += substituted(line, values) + "\n";
  }
  return text;
}

std::string source_string(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      literal += fmt::format("\\{}", c);
    else if (byte < 0x20 || byte == 0x7f)
      literal += fmt::format("\\{:03o}",
                             byte);  // octal: a hexadecimal escape would swallow digits that follow
    else
      literal += c;
  }
  return literal + "\"";
}

std::string in_comment(std::string_view text) { return escape_controls(text); }

}  // namespace culprit
