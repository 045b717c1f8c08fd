#include "target/command_target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "process/program_path.hpp"
#include "terminal/suggest.hpp"

namespace culprit {
namespace {

// A launcher such as mpirun needs a while to end its ranks, which are not all in its process group.
constexpr std::chrono::seconds kKillGrace{5};

}  // namespace

std::chrono::milliseconds parse_duration(std::string_view flag, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double unit_ms = unit == "ms"                  ? 1
                         : unit.empty() || unit == "s" ? 1e3
                         : unit == "m"                 ? 6e4
                         : unit == "h"                 ? 3.6e6
                                                       : 0;
  const double ms = number * unit_ms;
  if (error != std::errc() || !std::isfinite(ms) || ms < 1 || ms > 1e11)
    throw UsageError(fmt::format(
        "{}: got '{}', expected a duration of at least 1ms such as 90, 90s, 1.5m, 2h or 500ms",
        flag, text));
  return std::chrono::milliseconds(static_cast<std::int64_t>(ms));
}

CommandTarget::CommandTarget(CommandSpec spec) : spec_(std::move(spec)) {
  read_toggles();
  read_templates();
  read_variants();
  for (const std::string& text : spec_.fail_patterns) {
    patterns_.emplace_back(text);
    for (std::size_t i = 0; i + 1 < patterns_.size(); ++i)
      if (patterns_[i].name() == patterns_.back().name())
        throw UsageError(fmt::format("--fail-regex: two are named '{}'", patterns_[i].name()));
  }
  for (const double tolerance : {spec_.tolerance.rtol, spec_.tolerance.atol})
    if (!(tolerance >= 0 && std::isfinite(tolerance)))
      throw UsageError(fmt::format("--rtol, --atol: got {}, expected a number from 0", tolerance));
  check_placeholders();
  check_programs();
}

void CommandTarget::read_toggles() {
  for (const std::string& text : spec_.toggles) toggles_.push_back(parse_toggle(text));
  for (const std::string& text : spec_.environment_toggles)
    toggles_.push_back(parse_environment_toggle(text));
  std::vector<Constraint> constraints;
  for (const std::string& text : spec_.requires_rules)
    for (Constraint& constraint : parse_requires(text, toggles_))
      constraints.push_back(std::move(constraint));
  for (const std::string& text : spec_.excludes_rules)
    constraints.push_back(parse_excludes(text, toggles_));
  space_ = make_space(toggles_, std::move(constraints));
  for (const Toggle& toggle : toggles_) {
    auto& values = words_.emplace_back();
    for (const std::string& text : toggle.texts) {
      auto& words = values.emplace_back();
      if (toggle.is_environment) continue;  // an environment value is taken as it is
      for (Word& word : split_words(text)) words.push_back(std::move(word.text));
    }
  }
}

void CommandTarget::read_templates() {
  command_ = CommandTemplate(spec_.command);
  if (!spec_.launcher.empty()) launcher_ = CommandTemplate(spec_.launcher);
  for (const CommandTemplate* each : {&command_, &launcher_})
    for (const std::string& name : each->placeholders())
      if (name == "dump" || name.starts_with("dump.")) {
        const std::string suffix = name.substr(4);
        if (has_dump_placeholder_ && suffix != dump_suffix_)
          throw UsageError(fmt::format("{{dump{}}} and {{dump{}}}: a trial has one dump file",
                                       dump_suffix_, suffix));
        has_dump_placeholder_ = true;
        dump_suffix_ = suffix;
      }
}

void CommandTarget::check_placeholders() const {
  if (has_dump_placeholder_ && has_fixed_dump())
    throw UsageError(
        "--dump and {dump}: expected one of the two, the first for a program that always writes "
        "the same file");
  if (!spec_.launcher.empty() && !launcher_.has("cmd"))
    throw UsageError(
        fmt::format("--launcher '{}': has no {{cmd}}, the place of the command", spec_.launcher));
  if (command_.has("cmd")) throw UsageError("--command: {cmd} belongs in --launcher");
  std::vector<std::string> names{"toggles", "fixes", "dump", "np"};
  bool has_np_toggle = false;  // or a size
  for (const SizeSpec& size : spec_.sizes) {
    names.push_back(size.name);
    has_np_toggle |= size.name == "np";
  }
  for (const Toggle& toggle : toggles_) {
    const bool is_placed = has_placeholder(toggle.name) || has_placeholder("toggles");
    if (!toggle.is_environment && !is_placed)
      throw UsageError(fmt::format(
          "--toggle '{}' appears in no template: --command has neither {{{}}} nor {{toggles}}",
          toggle.name, toggle.name));
    if (toggle.is_environment) continue;
    names.push_back(toggle.name);
    has_np_toggle |= toggle.name == "np";
  }
  for (const CommandFix& fix : spec_.fixes)
    for (const Toggle& toggle : toggles_)
      if (fix.name == toggle.name)
        throw UsageError(
            fmt::format("--fix '{}': a toggle has that name too, expected two names", fix.name));
  const bool has_np = has_placeholder("np");
  if (has_np && !spec_.np && !has_np_toggle)
    throw UsageError("{np} has no value: expected --np N (or a toggle or size named np)");
  if (spec_.np && (has_np_toggle || !has_np))
    throw UsageError(has_np_toggle ? "--np and a toggle or size named np: expected one of the two"
                                   : "--np: no template has {np}, the place of the number");
  if (spec_.np && *spec_.np < 1)
    throw UsageError(fmt::format("--np: got {}, expected at least 1", *spec_.np));
  for (const CommandTemplate* each : {&command_, &launcher_})
    for (const std::string& name : each->placeholders()) {
      if (name == "cmd" || name.starts_with("dump.")) continue;
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw UsageError(
            fmt::format("'{}': unknown placeholder {{{}}}{} (write {{{{{}}}}} for the text itself)",
                        each->text(), name, did_you_mean(name, names), name));
    }
}

// Only what this machine starts itself can be checked: a launcher may start the command elsewhere.
void CommandTarget::check_programs() const {
  for (const Assignment& assignment : {reference(), reported()}) {
    const ProcessRequest process = request(assignment, "dump");
    std::string path = std::getenv("PATH") ? std::getenv("PATH") : "/usr/local/bin:/usr/bin:/bin";
    for (const auto& [name, value] : process.environment)
      if (name == "PATH") path = value.value_or("/usr/local/bin:/usr/bin:/bin");
    if (process.argv.empty())
      throw UsageError(
          fmt::format("--command '{}': nothing is left with all toggles off", spec_.command));
    const std::string& program = process.argv[0];
    const ProgramPath found = find_program(program, path);
    if (!found.path.empty()) continue;
    const bool is_variable =
        program.find('=') != std::string::npos && program.find('/') > program.find('=');
    throw UsageError(
        fmt::format("cannot start '{}': {}{}", program, std::strerror(found.error),
                    is_variable ? " (no shell is run: write env " + program + " COMMAND)" : ""));
  }
}

std::vector<std::string> CommandTarget::words_of(const std::string& placeholder,
                                                 const Assignment& assignment,
                                                 const std::string& dump_path) const {
  if (placeholder == "dump" || placeholder.starts_with("dump.")) return {dump_path};
  if (placeholder == "np" && spec_.np) return {std::to_string(*spec_.np)};
  for (std::size_t i = 0; i < spec_.sizes.size(); ++i)
    if (spec_.sizes[i].name == placeholder && !toggle_named(placeholder))
      return {std::to_string(spec_.sizes[i].values.at(assignment.at(size_switch(i))))};
  if (placeholder == "fixes") return appended_words(assignment);
  std::vector<std::string> words;
  for (std::size_t t = 0; t < toggles_.size(); ++t) {
    if (toggles_[t].is_environment) continue;
    const std::string& name = toggles_[t].name;
    // {toggles} are those that have no place of their own.
    const bool is_wanted = placeholder == "toggles" ? !has_placeholder(name) : placeholder == name;
    if (!is_wanted) continue;
    for (std::string& word : toggle_words(t, assignment)) words.push_back(std::move(word));
  }
  if (placeholder == "toggles" && !has_placeholder("fixes"))
    for (std::string& word : appended_words(assignment)) words.push_back(std::move(word));
  return words;
}

ProcessRequest CommandTarget::request(const Assignment& assignment,
                                      const std::string& dump_path) const {
  const auto inner = [&](const std::string& name) { return words_of(name, assignment, dump_path); };
  ProcessRequest result;
  result.argv = command_.render(inner);
  if (!has_placeholder("fixes") && !has_placeholder("toggles"))
    for (std::string& word : appended_words(assignment)) result.argv.push_back(std::move(word));
  if (!spec_.launcher.empty()) {
    const std::vector<std::string> command = std::move(result.argv);
    result.argv = launcher_.render(
        [&](const std::string& name) { return name == "cmd" ? command : inner(name); });
  }
  for (const auto& [name, value] : spec_.environment) result.environment.emplace_back(name, value);
  for (std::size_t t = 0; t < toggles_.size(); ++t) {
    if (!toggles_[t].is_environment) continue;
    const std::string& value = toggles_[t].texts.at(assignment.at(t));
    result.environment.emplace_back(toggles_[t].name,
                                    value.empty() ? std::nullopt : std::optional(value));
  }
  for (std::size_t f = 0; f < spec_.fixes.size(); ++f) {
    const CommandFix& fix = spec_.fixes[f];
    if (fix.kind != CommandFix::Kind::kEnvironment || !is_on(f, assignment)) continue;
    std::erase_if(result.environment, [&](const auto& each) { return each.first == fix.where; });
    result.environment.emplace_back(fix.where,
                                    fix.text.empty() ? std::nullopt : std::optional(fix.text));
  }
  result.stall_deadline = spec_.stall;
  result.kill_grace = kKillGrace;
  return result;
}

std::string CommandTarget::shell_line(const Assignment& assignment,
                                      const std::string& dump_path) const {
  const ProcessRequest process = request(assignment, dump_path);
  std::vector<std::string> words;
  if (!process.environment.empty()) words.emplace_back("env");
  for (const auto& [name, value] : process.environment)
    if (!value) words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : process.environment)
    if (value) words.push_back(name + '=' + *value);
  words.insert(words.end(), process.argv.begin(), process.argv.end());
  return quote_words(words);
}

std::string CommandTarget::description() const {
  std::string text = fmt::format("command {}\n", spec_.command);
  if (!spec_.launcher.empty()) text += fmt::format("launcher {}\n", spec_.launcher);
  if (spec_.np) text += fmt::format("np {}\n", *spec_.np);
  for (const auto& [name, value] : spec_.environment)
    text += fmt::format("environment {}={}\n", name, value);
  for (const Toggle& toggle : toggles_)
    text += fmt::format("{} {}={}\n", toggle.is_environment ? "env-toggle" : "toggle", toggle.name,
                        fmt::join(toggle.texts, "|"));
  for (const Constraint& constraint : space_.constraints) text += constraint.text + '\n';
  // The values of a size stand in the space.
  for (const CommandFix& fix : spec_.fixes)
    text +=
        fmt::format("fix {}{}{}={}\n", fix.name, fix.where.empty() ? "" : ":", fix.where, fix.text);
  for (const std::string& pattern : spec_.fail_patterns)
    text += fmt::format("fail-regex {}\n", pattern);
  for (const int status : spec_.unresolved_statuses)
    text += fmt::format("skip-status {}\n", status);
  if (has_fixed_dump()) text += fmt::format("dump {}\n", spec_.dump_path);
  if (has_dump())
    text += fmt::format("rtol {} atol {}\n", spec_.tolerance.rtol, spec_.tolerance.atol);
  if (!spec_.has_error_lines) text += "without error lines\n";
  return text;
}

}  // namespace culprit
