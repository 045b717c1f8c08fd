// Entry, bookkeeping and limits of the evaluator.
#include "launch/shell_eval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "launch/shell_parser.hpp"

namespace culprit::launch::shell {

namespace {
// Bytes of values made plus work done. A launch script needs some 100 KB; this ends hostile ones
// (variables that double, loops in loops) within a second.
constexpr std::size_t kMaxSpent = std::size_t{1} << 25;
constexpr std::size_t kMaxNotes = 500;
}  // namespace

bool ShellEvaluator::Variable::same_as(const Variable& other) const {
  if (is_array != other.is_array || items.size() != other.items.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].value.same_as(other.items[i].value)) return false;
  }
  return true;
}

std::size_t ShellEvaluator::State::num_bytes() const {
  std::size_t total = 0;
  for (const auto& [name, variable] : variables) {
    total += 64 + name.size();
    for (const Field& field : variable.items) total += 64 + field.value.text.size();
  }
  for (const auto& [name, file] : files) total += 64 + file.content.text.size();
  return total;
}

ShellEvaluator::ShellEvaluator(std::string_view script, bool unset_is_empty,
                               std::function<void(const Invocation&)> on_command)
    : script_(script), unset_is_empty_(unset_is_empty), on_command_(std::move(on_command)) {
  for (std::size_t i = 0; i < script.size(); ++i) {
    if (script[i] == '\n') newlines_.push_back(static_cast<std::uint32_t>(i));
  }
}

int ShellEvaluator::line_at(std::uint32_t script_offset) const {
  return static_cast<int>(std::lower_bound(newlines_.begin(), newlines_.end(), script_offset) -
                          newlines_.begin()) +
         1;
}

void ShellEvaluator::preset(const std::string& name, const BatchNumber& number) {
  const std::string text = fmt::format("{}", number.value);
  Value value = literal(text);
  if (number.written.end - number.written.begin == text.size()) {
    for (std::size_t i = 0; i < text.size(); ++i)
      value.from[i] = number.written.begin + static_cast<std::uint32_t>(i);
  }
  set_scalar(name, std::move(value));
}

void ShellEvaluator::run() {
  sources_.push_back(std::make_unique<Source>());
  source_ = sources_.back().get();
  ShellParser parser(script_, [this](std::uint32_t offset) { return line_at(offset); });
  const auto program = parser.parse();
  exec(*program);
}

void ShellEvaluator::run_uncalled_functions() {
  if (!state_.open_world) return;
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) names.push_back(name);
  const auto offset = [&](const std::string& name) { return functions_.at(name).body->offset; };
  std::sort(names.begin(), names.end(),
            [&](const auto& a, const auto& b) { return offset(a) < offset(b); });
  for (const std::string& name : names) {
    const Function function = functions_.at(name);  // one that another of them calls is not read
    if (function.called) continue;                  // a second time
    const int launches = num_launches_;
    const Source* before = std::exchange(source_, function.source);
    ++num_conditions_;
    exec(*function.body);
    --num_conditions_;
    const int at_line = line(function.body->offset);
    source_ = before;
    if (num_launches_ != launches)
      note_unknown(at_line, fmt::format("{}() is called by nothing in this script; read as if a "
                                        "script that is not followed called it without arguments",
                                        name));
  }
}

void ShellEvaluator::run_text(const Value& text, int at_line) {
  if (depth_ > 50)
    throw UsageError(fmt::format("[launch.read] line {}: commands nest too deep", at_line));
  spend(text.text.size() + 64, 0);
  auto source = std::make_unique<Source>();
  source->text = text.text;
  source->origin = text.from;
  source->through = text.through;
  source->line = at_line;
  if (source->text.empty()) return;
  const Source* before = std::exchange(source_, source.get());
  sources_.push_back(std::move(source));
  ShellParser parser(source_->text, [this](std::uint32_t offset) { return line(offset); });
  std::shared_ptr<Command> command;
  try {
    command = parser.parse();
  } catch (const UsageError&) {
    // A command line with unknown parts need not parse.
    note_unknown(at_line, "a command line made at run time that can't be read");
  }
  if (command) {
    ++depth_;
    exec(*command);
    --depth_;
  }
  source_ = before;
}

void ShellEvaluator::spend(std::size_t bytes, std::uint32_t offset) {
  spent_ += bytes;
  if (spent_ > kMaxSpent) {
    throw UsageError(
        fmt::format("[launch.read] line {}: expands without bound, stopped after {} bytes",
                    line(offset), kMaxSpent));
  }
}

void ShellEvaluator::add_note(std::vector<LaunchNote>& notes, int line, std::string text) {
  for (const LaunchNote& note : notes) {
    if (note.line == line && note.text == text) return;
  }
  if (notes.size() < kMaxNotes) notes.push_back({line, std::move(text)});
}

std::string ShellEvaluator::display(const Value& value) const {
  std::string text;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    if (is_gap(value.from[i]))
      text += gaps_.at(value.from[i]).source;
    else
      text.push_back(value.text[i]);
  }
  return text;
}

}  // namespace culprit::launch::shell
