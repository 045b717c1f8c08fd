#include "target/toggle_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "process/progress_counter.hpp"
#include "terminal/suggest.hpp"

namespace culprit {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

bool is_name(std::string_view name, std::string_view more) {
  return !name.empty() && (is_letter(name[0]) || name[0] == '_') &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_alphanumeric(c) || c == '_' || more.find(c) != std::string_view::npos;
         });
}

std::vector<std::string> split_values(std::string_view text, std::string_view flag) {
  std::vector<std::string> values(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '|') {
      values.emplace_back();
    } else if (text[i] == '\\' && i + 1 < text.size() &&
               (text[i + 1] == '|' || text[i + 1] == '\\')) {
      values.back() += text[++i];
    } else if (text[i] == '\0') {
      throw UsageError(fmt::format("{}: a NUL byte can't be passed to a program", flag));
    } else {
      values.back() += text[i];
    }
  }
  return values;
}

Toggle parse(std::string_view text, std::string_view flag, bool is_environment) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    throw UsageError(fmt::format("{}: got '{}', expected NAME=VALUE|VALUE", flag, text));
  Toggle toggle{std::string(trimmed(text.substr(0, equals))), is_environment, {}, {}};
  if (!is_name(toggle.name, is_environment ? "" : ".-"))
    throw UsageError(
        fmt::format("{}: got name '{}', expected a letter or _, then letters, digits{}", flag,
                    toggle.name, is_environment ? " and _" : " and _ . -"));
  if (is_environment ? toggle.name == kProgressVariable : is_reserved_name(toggle.name))
    throw UsageError(fmt::format("{}: the name '{}' is reserved", flag, toggle.name));
  toggle.texts = split_values(text.substr(equals + 1), flag);
  if (toggle.texts.size() < 2)
    throw UsageError(
        fmt::format("{}: '{}' has one value, expected at least two, the reporter's first and off "
                    "last ('{}=...|' for on and nothing)",
                    flag, toggle.name, toggle.name));
  if (toggle.texts.size() > std::numeric_limits<std::uint16_t>::max())
    throw UsageError(fmt::format("{}: '{}' has too many values", flag, toggle.name));
  const auto has = [&](std::string_view value) {
    return std::find(toggle.texts.begin(), toggle.texts.end(), value) != toggle.texts.end();
  };
  for (const std::string& value : toggle.texts) {
    if (std::count(toggle.texts.begin(), toggle.texts.end(), value) > 1)
      throw UsageError(fmt::format("{}: '{}' has the value '{}' twice", flag, toggle.name, value));
    const std::string empty_name = is_environment ? "unset" : "off";
    toggle.values.push_back(!value.empty() ? value : has(empty_name) ? "(empty)" : empty_name);
  }
  return toggle;
}

// One side of a rule. Null when it is not NAME=VALUE of known ones; then `why` says so.
std::optional<Setting> find_setting(std::string_view text, const std::vector<Toggle>& toggles,
                                    std::string& why) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    why = fmt::format("got '{}', expected NAME=VALUE", trimmed(text));
    return std::nullopt;
  }
  const std::string_view name = trimmed(text.substr(0, equals));
  const std::string_view value = trimmed(text.substr(equals + 1));
  std::vector<std::string> names;
  for (std::size_t t = 0; t < toggles.size(); ++t) {
    const Toggle& toggle = toggles[t];
    names.push_back(toggle.name);
    if (toggle.name != name) continue;
    for (std::size_t v = 0; v < toggle.values.size(); ++v)
      if (value == trimmed(toggle.texts[v]) || value == toggle.values[v])
        return Setting{static_cast<std::uint16_t>(t), static_cast<std::uint16_t>(v)};
    why = fmt::format("'{}' has no value '{}', expected one of: {}", name, value,
                      fmt::join(toggle.values, ", "));
    return std::nullopt;
  }
  why = fmt::format("no toggle is named '{}'{}", name, did_you_mean(name, names));
  return std::nullopt;
}

// The settings between separators. A value may hold the separator itself, so every way to cut is
// tried.
std::optional<std::vector<Setting>> parse_settings(std::string_view text,
                                                   std::string_view separator,
                                                   const std::vector<Toggle>& toggles,
                                                   std::string& why) {
  std::string whole_why;
  if (const auto whole = find_setting(text, toggles, whole_why)) return std::vector{*whole};
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, at + 1)) {
    const auto first = find_setting(text.substr(0, at), toggles, why);
    if (!first) continue;
    if (auto rest = parse_settings(text.substr(at + separator.size()), separator, toggles, why)) {
      rest->insert(rest->begin(), *first);
      return rest;
    }
    return std::nullopt;
  }
  if (why.empty() || text.find(separator) == std::string_view::npos) why = whole_why;
  return std::nullopt;
}

std::vector<Setting> parse_rule(std::string_view text, std::string_view flag,
                                std::string_view separator, const std::vector<Toggle>& toggles) {
  std::string why;
  const auto settings = parse_settings(text, separator, toggles, why);
  if (!settings) throw UsageError(fmt::format("{} '{}': {}", flag, text, why));
  std::set<std::uint16_t> used;
  for (const Setting& setting : *settings)
    if (!used.insert(setting.which).second)
      throw UsageError(
          fmt::format("{} '{}': names toggle '{}' twice", flag, text, toggles[setting.which].name));
  if (settings->size() < 2)
    throw UsageError(fmt::format("{} '{}': expected at least two settings with '{}' between", flag,
                                 text, separator));
  return *settings;
}

}  // namespace

Toggle parse_toggle(std::string_view text) { return parse(text, "--toggle", false); }
Toggle parse_environment_toggle(std::string_view text) { return parse(text, "--env-toggle", true); }

bool is_toggle_name(std::string_view name) { return is_name(name, ".-"); }

Setting parse_setting(std::string_view flag, std::string_view text,
                      const std::vector<Toggle>& toggles) {
  std::string why;
  if (const auto setting = find_setting(text, toggles, why)) return *setting;
  throw UsageError(fmt::format("{} '{}': {}", flag, text, why));
}

bool is_reserved_name(std::string_view name) {
  return name == "toggles" || name == "fixes" || name == "cmd" || name == "dump" ||
         name.starts_with("dump.");
}

std::vector<Constraint> parse_requires(std::string_view text, const std::vector<Toggle>& toggles) {
  const std::vector<Setting> settings = parse_rule(text, "--requires", "->", toggles);
  if (settings.size() != 2)
    throw UsageError(fmt::format("--requires '{}': expected one '->'", text));
  std::vector<Constraint> constraints;
  const std::size_t values = toggles[settings[1].which].values.size();
  for (std::size_t other = 0; other < values; ++other)
    if (other != settings[1].value)
      constraints.push_back({{settings[0], {settings[1].which, static_cast<std::uint16_t>(other)}},
                             "requires " + std::string(text)});
  return constraints;
}

Constraint parse_excludes(std::string_view text, const std::vector<Toggle>& toggles) {
  return {parse_rule(text, "--excludes", ",", toggles), "excludes " + std::string(text)};
}

bool is_valid(const Space& space, const Assignment& assignment, const Constraint** broken) {
  for (const Constraint& constraint : space.constraints) {
    const bool is_broken =
        std::all_of(constraint.all_of.begin(), constraint.all_of.end(),
                    [&](const Setting& s) { return assignment.at(s.which) == s.value; });
    if (!is_broken) continue;
    if (broken) *broken = &constraint;
    return false;
  }
  return true;
}

Space make_space(const std::vector<Toggle>& toggles, std::vector<Constraint> constraints) {
  if (toggles.empty())
    throw UsageError("no toggle: expected at least one --toggle or --env-toggle");
  Space space;
  Assignment all_first;
  Assignment all_off;
  std::set<std::string> names;
  for (const Toggle& toggle : toggles) {
    if (!names.insert(toggle.name).second)
      throw UsageError(fmt::format("two toggles are named '{}'", toggle.name));
    space.switches.push_back({toggle.name, toggle.values});
    all_first.push_back(0);
    all_off.push_back(static_cast<std::uint16_t>(toggle.values.size() - 1));
  }
  space.constraints = std::move(constraints);
  const Constraint* broken = nullptr;
  if (!is_valid(space, all_off, &broken))
    throw UsageError(fmt::format(
        "'{}' forbids the reference run, in which each toggle has its last value", broken->text));
  if (!is_valid(space, all_first, &broken))
    throw UsageError(
        fmt::format("'{}' forbids the reporter's own run, in which each toggle has its first value",
                    broken->text));
  return space;
}

}  // namespace culprit
