#include "target/variant_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "target/toggle_spec.hpp"

namespace culprit {
namespace {

constexpr std::int64_t kMostValues = 4096;

// Name and the rest, cut at the first '='.
std::pair<std::string_view, std::string_view> cut(std::string_view flag, std::string_view text,
                                                  std::string_view expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    throw UsageError(fmt::format("{}: got '{}', expected {}", flag, text, expected));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::int64_t number_of(std::string_view whole, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw UsageError(fmt::format("--size '{}': got '{}', expected a whole number", whole, text));
  return value;
}

std::vector<std::int64_t> listed_values(std::string_view whole, std::string_view list) {
  std::vector<std::int64_t> values;
  while (true) {
    const std::size_t bar = list.find('|');
    values.push_back(number_of(whole, list.substr(0, bar)));
    if (values.size() > 1 && values[values.size() - 2] <= values.back())
      throw UsageError(fmt::format(
          "--size '{}': expected falling values, the current one first and the smallest last",
          whole));
    if (bar == std::string_view::npos) break;
    list.remove_prefix(bar + 1);
  }
  std::reverse(values.begin(), values.end());
  return values;
}

bool is_fix_name(std::string_view name) {
  return !name.empty() && is_alphanumeric(name.front()) && name.back() != ' ' &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || std::string_view(" _.-").find(c) != std::string_view::npos;
         });
}

}  // namespace

SizeSpec parse_size(std::string_view text) {
  const auto [name, rest] = cut("--size", text, "NAME=CURRENT:MIN or NAME=V|V");
  SizeSpec size{std::string(name), {}};
  if (!is_toggle_name(name) || is_reserved_name(name))
    throw UsageError(fmt::format(
        "--size: got name '{}', expected a letter or _, then letters, digits and _ . -{}", name,
        is_reserved_name(name) ? " (this name is reserved)" : ""));
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) {
    size.values = listed_values(text, rest);
  } else {
    const std::int64_t current = number_of(text, rest.substr(0, colon));
    const std::int64_t minimum = number_of(text, rest.substr(colon + 1));
    if (current - minimum >= kMostValues)
      throw UsageError(fmt::format(
          "--size '{}': more than {} values; list the ones to try instead: {}={}|{}|...|{}", text,
          kMostValues, name, current, current / 2, minimum));
    for (std::int64_t value = minimum; value <= current; ++value) size.values.push_back(value);
  }
  if (size.values.size() < 2)
    throw UsageError(
        fmt::format("--size '{}': expected a smallest value below the current one", text));
  return size;
}

CommandFix parse_fix(std::string_view text) {
  const auto [head, rest] = cut("--fix", text, "NAME=TEXT or NAME:TOGGLE=TEXT");
  CommandFix fix;
  const std::size_t colon = head.find(':');
  fix.name = head.substr(0, colon);
  fix.text = rest;
  if (colon != std::string_view::npos) {
    fix.kind = CommandFix::Kind::kReplace;
    fix.where = head.substr(colon + 1);
  } else if (rest.find_first_not_of(" \t\n") == std::string_view::npos) {
    throw UsageError(fmt::format("--fix '{}': nothing to append", text));
  }
  if (!is_fix_name(fix.name))
    throw UsageError(fmt::format(
        "--fix: got name '{}', expected letters, digits, blanks and _ . - only", fix.name));
  return fix;
}

CommandFix parse_environment_fix(std::string_view text) {
  const auto [name, rest] = cut("--env-fix", text, "VARIABLE=TEXT");
  if (!is_toggle_name(name) || name.find_first_of(".-") != std::string_view::npos)
    throw UsageError(fmt::format(
        "--env-fix: got name '{}', expected a letter or _, then letters, digits and _", name));
  return {.name = std::string(text),
          .kind = CommandFix::Kind::kEnvironment,
          .where = std::string(name),
          .text = std::string(rest),
          .even_when_off = false,
          .meaning = ""};
}

}  // namespace culprit
