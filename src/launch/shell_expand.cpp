// Expansion of words: parameters with their operators, arithmetic, word splitting.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launch/shell_arith.hpp"
#include "launch/shell_eval.hpp"

namespace culprit::launch::shell {

namespace {

// Set by bash or by every login, so never "unset", and never ours to know.
constexpr std::array<std::string_view, 14> kSetByShell = {
    "0",    "?",   "$",        "!",      "-",           "HOME",   "USER",
    "PATH", "PWD", "HOSTNAME", "RANDOM", "BASH_SOURCE", "LINENO", "UID"};

bool is_all(const Part& part) {
  return part.kind == Part::Kind::kParam && part.op.empty() &&
         (part.name == "@" || part.name == "*" || part.subscript == "@" || part.subscript == "*");
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// The words of a text: [begin, end) of each.
std::vector<std::pair<std::size_t, std::size_t>> words_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  for (std::size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !is_blank(text[end])) ++end;
    words.emplace_back(i, end);
    i = end;
  }
  return words;
}

// ${A[@]} without quotes: an item that holds several words becomes several, an empty one none.
std::vector<Field> split_items(const std::vector<Field>& items) {
  std::vector<Field> words;
  for (const Field& item : items) {
    const auto parts = words_of(item.value.text);
    if (parts.size() == 1 && parts[0] == std::pair(std::size_t{0}, item.value.text.size())) {
      words.push_back(item);
      continue;
    }
    for (const auto& [begin, end] : parts)
      words.push_back({item.value.slice(begin, end), {}, item.used_line});
  }
  return words;
}

}  // namespace

SourceRange ShellEvaluator::script_range(SourceRange range) const {
  if (source_->origin.empty()) return range;
  if (range.end <= range.begin || range.end > source_->origin.size()) return {};
  const std::uint32_t first = source_->origin[range.begin];
  const std::uint32_t last = source_->origin[range.end - 1];
  if (first >= kGapBit || last >= kGapBit || last < first) return {};
  return {first, last + 1};
}

int ShellEvaluator::line(std::uint32_t offset) const {
  if (source_->origin.empty()) return line_at(offset);
  std::size_t i = std::min<std::size_t>(offset, source_->origin.size());
  if (i < source_->origin.size() && is_gap(source_->origin[i])) {
    const Gap& gap = gaps_.at(source_->origin[i]);
    if (!gap.sites.empty()) return line_at(gap.sites.back().begin);
    if (gap.line > 0) return gap.line;
  }
  while (i < source_->origin.size() && source_->origin[i] >= kGapBit) ++i;
  if (i < source_->origin.size()) return line_at(source_->origin[i]);
  return source_->line;
}

void ShellEvaluator::mark_through(Value& value, SourceRange range) {
  if (range.end == 0) return;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    if (value.through[i].end == 0) value.through[i] = range;
    if (is_gap(value.from[i])) gaps_.add_site(value.from[i], range);
  }
}

Value ShellEvaluator::text_value(const Part& part) const {
  Value value;
  for (std::size_t i = 0; i < part.text.size(); ++i) {
    const std::uint32_t at = part.at[i];
    if (source_->origin.empty())
      value.push(part.text[i], at);
    else
      value.push(part.text[i], source_->origin[at], source_->through[at]);
  }
  return value;
}

const ShellEvaluator::Variable* ShellEvaluator::find(const std::string& name) const {
  const auto found = state_.variables.find(name);
  return found == state_.variables.end() ? nullptr : &found->second;
}

Value ShellEvaluator::unset_value(const std::string& name, const Part& part) {
  const SourceRange range = script_range(part.range);
  Gap gap;
  gap.line = line(part.range.begin);
  gap.source = range.end > 0 ? std::string(script_.substr(range.begin, range.end - range.begin))
                             : "$" + name;
  const bool argument = name == "@" || name == "*" || (name[0] >= '1' && name[0] <= '9');
  if (argument) {
    gap.kind = Gap::Kind::kUnset;
    gap.all_arguments = name == "@" || name == "*";
    gap.reason = "an argument of the script, which is not known";
  } else if (std::find(kSetByShell.begin(), kSetByShell.end(), name) != kSetByShell.end()) {
    gap.reason = fmt::format("{} is set outside of the script", name);
  } else if (state_.open_world) {
    gap.reason = fmt::format("{} may be set by a file or command that is not read", name);
  } else {
    gap.kind = Gap::Kind::kUnset;
    gap.reason = fmt::format("{} is never assigned by the script", name);
  }
  if (!unset_is_empty_) gap.kind = Gap::Kind::kUnknown;
  return gaps_.make(std::move(gap));
}

// "$@", "${NAME[@]}": one field an item. An array that was never assigned gives one unset field.
std::vector<Field> ShellEvaluator::all_items(const Part& part) {
  std::vector<Field> items;
  if (part.name == "@" || part.name == "*") {
    items = state_.positional;
    if (state_.more_positional) {
      items.push_back(
          {unset_value(part.name, part), script_range(part.range), line(part.range.begin)});
    }
    return items;
  }
  if (const Variable* variable = find(part.name)) return variable->items;
  items.push_back({unset_value(part.name, part), script_range(part.range), line(part.range.begin)});
  return items;
}

Value ShellEvaluator::param_value(const Part& part) {
  Value value;
  bool is_set = false;
  const std::string& name = part.name;
  if (part.op == "indirect") {
    return gaps_.make(
        {Gap::Kind::kUnknown, line(part.range.begin), "${!" + name + "}", "an indirect name"});
  }
  if (name == "#" && part.op.empty() && (!state_.more_positional || unset_is_empty_)) {
    Value count = literal(fmt::format("{}", state_.positional.size()));
    count.assumed = state_.more_positional;
    return count;
  }
  if (part.op == "len" && (part.subscript == "@" || part.subscript == "*")) {
    const Variable* variable = find(name);
    return variable ? literal(fmt::format("{}", variable->items.size())) : unset_value(name, part);
  }
  if (!name.empty() && name[0] >= '1' && name[0] <= '9') {
    const std::size_t index = name.size() > 4 ? 9999 : static_cast<std::size_t>(std::stoi(name));
    is_set = index <= state_.positional.size();
    if (is_set)
      value = state_.positional[index - 1].value;
    else if (!state_.more_positional)
      is_set = true;  // fewer arguments were given: empty
  } else if (Field* field = element(name, part.subscript)) {
    is_set = true;
    value = field->value;
  } else if (name == "@" || name == "*") {
    for (const Field& item : all_items(part)) {
      if (!value.text.empty()) value.append(literal(" "));
      value.append(item.value);
    }
    is_set = !state_.more_positional || !state_.positional.empty();
  }
  if (!is_set) value = unset_value(name, part);
  spend(value.text.size(), part.range.begin);
  if (!part.op.empty()) value = apply_operator(part, std::move(value), is_set);
  mark_through(value, script_range(part.range));
  return value;
}

Value ShellEvaluator::apply_operator(const Part& part, Value value, bool is_set) {
  const std::string& op = part.op;
  const auto unknown = [&](const std::string& why) {
    return gaps_.make(
        {Gap::Kind::kUnknown, line(part.range.begin), "${" + part.name + op + "...}", why});
  };
  std::string text;
  bool assumed = false;
  const bool known = text_of(value, gaps_, text, assumed);
  const bool all_unset = known && text.empty() && value.has_gap();  // e.g. X=$1
  const char kind = op.back();
  if (kind == '-' || kind == '=' || kind == '+' || kind == '?') {
    const bool set_outside =
        !is_set && (state_.open_world || std::find(kSetByShell.begin(), kSetByShell.end(),
                                                   part.name) != kSetByShell.end());
    const bool may_be_empty = is_set && !known && value.text.size() == 1 && op[0] == ':';
    if (set_outside || may_be_empty) {
      return kind == '+' ? unknown("whether it is empty is not known") : value;
    }
    const bool present = is_set && (op[0] != ':' || !known || !text.empty()) && !all_unset;
    if (kind == '+') return present ? expand_text(*part.operand) : Value();
    if (present || kind == '?') return value;
    Value fallback = expand_text(*part.operand);
    if (fallback.text.empty()) fallback.assumed = true;  // as unset as before
    if (kind == '=') set_scalar(part.name, fallback);
    return fallback;
  }
  if (value.has_gap()) return unknown("depends on a value that is not known");
  if (op == "len") return literal(fmt::format("{}", value.text.size()));
  bool pattern_known = true;
  if (kind == '%' || kind == '#') {
    const std::string pattern = expand_pattern(*part.operand, pattern_known);
    if (!pattern_known || value.text.size() > 4096)
      return unknown("depends on a value that is not known");
    const std::size_t size = value.text.size();
    const std::string_view view(value.text);
    for (std::size_t step = 0; step <= size; ++step) {
      const std::size_t taken =
          op.size() == 2 ? size - step : step;  // longest or shortest match first
      spend(taken + 1, part.range.begin);
      if (kind == '%' && glob_match(pattern, view.substr(size - taken)))
        return value.slice(0, size - taken);
      if (kind == '#' && glob_match(pattern, view.substr(0, taken)))
        return value.slice(taken, size);
    }
    return value;
  }
  if (kind == '^' || kind == ',') {
    const std::size_t count =
        op.size() == 2 ? value.text.size() : std::min<std::size_t>(1, value.text.size());
    for (std::size_t i = 0; i < count; ++i) {
      char& c = value.text[i];
      if (kind == '^' && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (kind == ',' && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return value;
  }
  return unknown("this expansion is not evaluated");
}

std::optional<std::int64_t> ShellEvaluator::evaluate(const Value& expression, bool& assumed) {
  if (expression.has_gap()) return std::nullopt;
  assumed = assumed || expression.assumed;
  ArithContext context;
  context.lookup = [&](const std::string& name) -> std::optional<std::int64_t> {
    const Variable* variable = find(name);
    if (variable == nullptr || variable->items.empty() || variable->items[0].value.has_gap())
      return std::nullopt;
    assumed = assumed || variable->items[0].value.assumed;
    const std::string& text = variable->items[0].value.text;
    return text.empty() ? std::optional<std::int64_t>(0) : parse_integer(text);
  };
  context.assign = [&](const std::string& name, std::optional<std::int64_t> value) {
    if (value)
      set_scalar(name, literal(fmt::format("{}", *value)));
    else
      set_unknown(name, 0, "$" + name, "result of arithmetic that is not known");
  };
  return evaluate_arith(expression.text, context);
}

Value ShellEvaluator::arith_value(const Part& part) {
  const Value expression = expand_text(*part.operand);
  bool assumed = false;
  if (const auto number = evaluate(expression, assumed)) {
    Value value = literal(fmt::format("{}", *number));
    value.assumed = assumed;
    return value;
  }
  const Gap* cause = gaps_.first(expression);
  return gaps_.make(
      {Gap::Kind::kUnknown, line(part.range.begin), "$((" + display(expression) + "))",
       cause ? "arithmetic with " + cause->source + ", which is not known: " + cause->reason
             : std::string("arithmetic that can't be evaluated")});
}

void ShellEvaluator::expand_part(const Part& part, bool split, std::vector<Field>& fields,
                                 bool& open) {
  const auto current = [&]() -> Value& {
    if (!open) fields.emplace_back();
    open = true;
    return fields.back().value;
  };
  if (split && is_all(part)) {
    const std::vector<Field> items = part.quoted ? all_items(part) : split_items(all_items(part));
    for (std::size_t i = 0; i < items.size(); ++i) {
      spend(items[i].value.text.size() + 1, part.range.begin);
      if (i > 0 || !open) {
        fields.push_back(items[i]);  // keeps where the item was written
        mark_through(fields.back().value, script_range(part.range));
      } else {
        fields.back().value.append(items[i].value);
      }
      open = true;
    }
    return;
  }
  Value value;
  switch (part.kind) {
    case Part::Kind::kText:
      value = text_value(part);
      break;
    case Part::Kind::kParam:
      value = param_value(part);
      break;
    case Part::Kind::kArith:
      value = arith_value(part);
      mark_through(value, script_range(part.range));
      break;
    case Part::Kind::kCommand:
      value = gaps_.make({Gap::Kind::kUnknown, line(part.range.begin), part.text,
                          part.text.starts_with('<') && part.quoted ? "a value to be filled in"
                                                                    : "output of a command"});
      break;
  }
  if (part.kind == Part::Kind::kText || part.quoted || !split) {
    if (part.quoted || !value.text.empty()) current().append(value);
    return;
  }
  std::size_t i = 0;
  while (i < value.text.size()) {
    if (is_blank(value.text[i])) {
      open = false;
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < value.text.size() && !is_blank(value.text[end])) ++end;
    current().append(value.slice(i, end));
    i = end;
  }
}

std::vector<Field> ShellEvaluator::expand(const ShellWord& word) {
  std::vector<Field> fields;
  bool open = false;
  for (const Part& part : word.parts) expand_part(part, /*split=*/true, fields, open);
  for (Field& field : fields) {
    spend(field.value.text.size() + 1, word.range.begin);
    if (field.used_line != 0) continue;
    field.written = script_range(word.range);
    field.used_line = line(word.range.begin);
  }
  return fields;
}

std::vector<Field> ShellEvaluator::expand_all(const std::vector<ShellWord>& words) {
  std::vector<Field> all;
  for (const ShellWord& word : words) {
    for (Field& field : expand(word)) all.push_back(std::move(field));
  }
  return all;
}

Value ShellEvaluator::expand_text(const ShellWord& word) {
  std::vector<Field> fields;
  bool open = false;
  for (const Part& part : word.parts) {
    if (is_all(part)) {
      bool first = true;
      for (const Field& item : all_items(part)) {
        if (!open) fields.emplace_back();
        open = true;
        if (!first) fields.back().value.append(literal(" "));
        fields.back().value.append(item.value);
        first = false;
      }
      continue;
    }
    expand_part(part, /*split=*/false, fields, open);
  }
  spend(fields.empty() ? 1 : fields[0].value.text.size(), word.range.begin);
  return fields.empty() ? Value() : std::move(fields[0].value);
}

std::string ShellEvaluator::expand_pattern(const ShellWord& word, bool& known) {
  std::string pattern;
  for (const Part& part : word.parts) {
    std::vector<Field> fields;
    bool open = false;
    expand_part(part, /*split=*/false, fields, open);
    if (fields.empty()) continue;
    std::string text;
    bool assumed = false;
    known = text_of(fields[0].value, gaps_, text, assumed) && known;
    for (const char c : text) {
      if (part.quoted && std::string_view("*?[\\").find(c) != std::string_view::npos)
        pattern.push_back('\\');
      pattern.push_back(c);
    }
  }
  return pattern;
}

}  // namespace culprit::launch::shell
