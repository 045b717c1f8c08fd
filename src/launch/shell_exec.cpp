// Control flow: sequences, conditions, loops. What can't be decided is followed both ways and
// merged.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "launch/shell_eval.hpp"
#include "launch/shell_parser.hpp"

namespace culprit::launch::shell {

namespace {
constexpr int kMaxExecDepth = 200;
constexpr std::size_t kMaxUnrolled = 64;
}  // namespace

std::string ShellEvaluator::source_text(const Command& command) const {
  const std::string_view text = source_->origin.empty() ? script_ : std::string_view(source_->text);
  if (command.end <= command.offset || command.end > text.size()) return {};
  std::string shown(
      text.substr(command.offset, std::min<std::size_t>(command.end - command.offset, 80)));
  std::replace(shown.begin(), shown.end(), '\0', '?');
  shown.erase(0, shown.find_first_not_of(" \t\r\n"));
  const std::size_t newline = shown.find('\n');
  if (newline != std::string::npos) shown.resize(newline);
  while (!shown.empty() && (shown.back() == ' ' || shown.back() == ';')) shown.pop_back();
  return shown;
}

// A copy of the variables, paid for.
ShellEvaluator::State ShellEvaluator::snapshot(std::uint32_t offset) {
  spend(state_.num_bytes(), offset);
  return state_;
}

ShellEvaluator::Outcome ShellEvaluator::exec(const Command& command) {
  spend(32, command.offset);
  if (++depth_ > kMaxExecDepth) {
    throw UsageError(fmt::format(
        "[launch.read] line {}: commands nest too deep (functions that call themselves?)",
        line(command.offset)));
  }
  current_line_ = line(command.offset);
  Outcome outcome = exec_kind(command);
  --depth_;
  if (command.kind != Command::Kind::kSimple && !command.redirects.empty())
    write_files(command, {});
  return outcome;
}

ShellEvaluator::Outcome ShellEvaluator::exec_kind(const Command& command) {
  switch (command.kind) {
    case Command::Kind::kSimple:
      return exec_simple(command);
    case Command::Kind::kSequence:
      return exec_sequence(command);
    case Command::Kind::kAndOr:
      return exec_and_or(command);
    case Command::Kind::kPipeline:
      return exec_pipeline(command);
    case Command::Kind::kIf:
      return exec_if(command, 0);
    case Command::Kind::kCase:
      return exec_case(command, 0);
    case Command::Kind::kFor:
      return exec_for(command);
    case Command::Kind::kLoop:
      return exec_loop(command);
    case Command::Kind::kTest:
      return exec_test(command);
    case Command::Kind::kArith:
      return exec_arith(command);
    case Command::Kind::kGroup:
      return exec(*command.children[0]);
    case Command::Kind::kNot: {
      Outcome outcome = exec(*command.children[0]);
      outcome.truth = outcome.evaluated ? negate(outcome.truth) : Truth::kUnknown;
      return outcome;
    }
    case Command::Kind::kSubshell: {
      const State before = snapshot(command.offset);
      Outcome outcome = exec(*command.children[0]);
      const auto files = state_.files;
      state_ = before;
      state_.files = files;
      outcome.flow = Flow::kNext;
      return outcome;
    }
    case Command::Kind::kFunction:
      functions_[command.name] = {command.children[0], source_, /*called=*/false};
      return {};
  }
  return {};
}

ShellEvaluator::Outcome ShellEvaluator::exec_sequence(const Command& command) {
  Outcome outcome;
  for (const auto& child : command.children) {
    outcome = exec(*child);
    if (outcome.flow != Flow::kNext) break;
  }
  return outcome;
}

ShellEvaluator::Outcome ShellEvaluator::exec_pipeline(const Command& command) {
  // Each part is a shell of its own: assignments in it are lost.
  const State before = snapshot(command.offset);
  for (const auto& child : command.children) {
    exec(*child);
    spend(before.num_bytes(), command.offset);
    const auto files = state_.files;
    state_ = before;
    state_.files = files;
  }
  return {};
}

ShellEvaluator::State ShellEvaluator::merge(State yes, State no, int at_line,
                                            const std::string& why) {
  State merged = std::move(yes);
  std::set<std::string> names;
  for (const auto& [name, variable] : merged.variables) names.insert(name);
  for (const auto& [name, variable] : no.variables) names.insert(name);
  for (const std::string& name : names) {
    const auto a = merged.variables.find(name);
    const auto b = no.variables.find(name);
    const bool both = a != merged.variables.end() && b != no.variables.end();
    if (both && a->second.same_as(b->second)) continue;
    const Value gap = gaps_.make({Gap::Kind::kUnknown, at_line, "$" + name, why});
    Variable joined;
    if (!both) {
      joined = a != merged.variables.end() ? a->second : b->second;
      joined.items = {{gap, {}, at_line}};
    } else if (!a->second.is_array && !b->second.is_array && a->second.items.size() == 1 &&
               b->second.items.size() == 1) {
      joined = a->second;
      joined.items[0].value = join(a->second.items[0].value, b->second.items[0].value, gap);
    } else {
      const auto& x = a->second.items;
      const auto& y = b->second.items;
      std::size_t head = 0;
      while (head < std::min(x.size(), y.size()) && x[head].value.same_as(y[head].value)) ++head;
      joined.is_array = true;
      joined.items.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(head));
      joined.items.push_back({gap, {}, at_line});
    }
    merged.variables[name] = std::move(joined);
  }
  for (const auto& [name, file] : no.files) {
    const auto found = merged.files.find(name);
    if (found == merged.files.end() || !found->second.content.same_as(file.content)) {
      merged.files[name] = {Value(), false, at_line};
    }
  }
  merged.open_world = merged.open_world || no.open_world;
  if (merged.folder_changed_line == 0) merged.folder_changed_line = no.folder_changed_line;
  return merged;
}

ShellEvaluator::Outcome ShellEvaluator::both_ways(int at_line, const std::string& why,
                                                  const std::function<Outcome()>& yes,
                                                  const std::function<Outcome()>& no) {
  spend(2 * state_.num_bytes() + 64, 0);
  const State before = state_;
  const int launches = num_launches_;
  ++num_conditions_;
  const Outcome yes_outcome = yes();
  State yes_state = std::move(state_);
  state_ = before;
  const Outcome no_outcome = no();
  --num_conditions_;
  // A way that leaves the script says nothing about what follows.
  const bool yes_leaves = yes_outcome.flow != Flow::kNext;
  const bool no_leaves = no_outcome.flow != Flow::kNext;
  if (num_launches_ != launches && num_silent_ == 0) note_unknown(at_line, why);
  Outcome outcome;
  outcome.truth = Truth::kUnknown;
  outcome.evaluated = true;
  if (yes_leaves && no_leaves) {
    outcome.flow = yes_outcome.flow;
  } else if (no_leaves) {
    state_ = std::move(yes_state);
  } else if (!yes_leaves) {
    state_ = merge(std::move(yes_state), std::move(state_), at_line, why);
  }
  return outcome;
}

// `a && b || c`. A command that is not evaluated is taken to succeed, as it did for the reporter.
ShellEvaluator::Outcome ShellEvaluator::exec_and_or(const Command& command) {
  Outcome left = exec(*command.children[0]);
  for (std::size_t i = 1; i < command.children.size() && left.flow == Flow::kNext; ++i) {
    const bool is_and = command.name[i - 1] == '&';
    const Command& right = *command.children[i];
    const Truth wanted = is_and ? Truth::kTrue : Truth::kFalse;
    if (left.evaluated && left.truth == Truth::kUnknown) {
      const std::string why = fmt::format("condition that can't be evaluated: {}",
                                          source_text(*command.children[i - 1]));
      left = both_ways(
          line(command.children[i - 1]->offset), why, [&] { return exec(right); },
          [] { return Outcome(); });
    } else if (left.truth == wanted) {
      const bool assumed = left.assumed;
      State before;
      if (assumed) before = snapshot(right.offset);
      Outcome next = exec(right);
      if (next.flow == Flow::kExit && assumed) {
        // The reporter's job ran, so the arguments it checks for were there.
        state_ = std::move(before);
        next.flow = Flow::kNext;
      }
      next.assumed = next.assumed || assumed;
      left = next;
    }
  }
  return left;
}

ShellEvaluator::Outcome ShellEvaluator::exec_if(const Command& command, std::size_t index) {
  if (index + 1 >= command.children.size()) {
    return index < command.children.size() ? exec(*command.children[index]) : Outcome();
  }
  const Command& test = *command.children[index];
  const Command& body = *command.children[index + 1];
  Outcome condition = exec(test);
  if (condition.flow != Flow::kNext) return condition;
  if (!condition.evaluated) condition.truth = Truth::kUnknown;
  if (condition.truth == Truth::kUnknown) {
    const std::string why = fmt::format("condition that can't be evaluated: {}", source_text(test));
    return both_ways(
        line(command.offset), why, [&] { return exec(body); },
        [&] { return exec_if(command, index + 2); });
  }
  if (condition.truth == Truth::kFalse) return exec_if(command, index + 2);
  if (!condition.assumed) return exec(body);
  const State before = snapshot(command.offset);
  Outcome outcome = exec(body);
  if (outcome.flow == Flow::kExit) {
    state_ = before;
    outcome = {};
    if (num_silent_ == 0) {
      add_note(assumptions_, line(command.offset),
               "the script would stop here without its arguments or variables; taken as given");
    }
  }
  return outcome;
}

ShellEvaluator::Outcome ShellEvaluator::exec_case(const Command& command, std::size_t index) {
  const Value subject = expand_text(command.words[0]);
  std::string text;
  bool assumed = false;
  bool known = text_of(subject, gaps_, text, assumed);
  for (std::size_t i = index; i < command.arms.size(); ++i) {
    const CaseArm& arm = command.arms[i];
    bool matches = false;
    bool arm_known = known;
    for (const ShellWord& pattern : arm.patterns) {
      if (pattern.bare() == "*")
        matches = arm_known = true;
      else if (glob_match(expand_pattern(pattern, arm_known), text))
        matches = true;
    }
    if (arm_known && !matches) continue;
    if (arm_known && !arm.falls_through) {
      State before;
      if (assumed) before = snapshot(command.offset);
      Outcome outcome = exec(*arm.body);
      if (outcome.flow == Flow::kExit && assumed) {
        state_ = std::move(before);
        outcome = {};
      }
      return outcome;
    }
    const std::string why = fmt::format("case that can't be evaluated: {}", display(subject));
    return both_ways(
        line(command.offset), why, [&] { return exec(*arm.body); },
        [&] { return exec_case(command, i + 1); });
  }
  return {};
}

ShellEvaluator::Outcome ShellEvaluator::exec_for(const Command& command) {
  Part all;
  all.kind = Part::Kind::kParam;
  all.name = "@";
  all.range = {command.offset, command.offset};
  const std::vector<Field> items = command.bare_for ? all_items(all) : expand_all(command.words);
  const Command& body = *command.children[0];
  bool known = items.size() <= kMaxUnrolled;
  for (const Field& item : items) {
    known =
        known && !item.value.has_gap() && item.value.text.find_first_of("*?{") == std::string::npos;
  }
  if (known && items.size() > 1) {
    // Whether the body launches shows in a silent run of it.
    const State before = snapshot(command.offset);
    const int launches = num_launches_;
    ++num_silent_;
    state_.variables[command.name] = {false, {items[0]}};
    exec(body);
    --num_silent_;
    known = num_launches_ == launches;
    num_launches_ = launches;
    state_ = before;
  }
  if (known) {
    for (const Field& item : items) {
      state_.variables[command.name] = {false, {item}};
      const Outcome outcome = exec(body);
      if (outcome.flow == Flow::kBreak) break;
      if (outcome.flow != Flow::kNext) return outcome;
    }
    return {};
  }
  set_unknown(
      command.name, line(command.offset), "$" + command.name,
      fmt::format("takes {} values in the loop of line {}", items.size(), line(command.offset)));
  return exec_abstract_body(command);
}

ShellEvaluator::Outcome ShellEvaluator::exec_loop(const Command& command) {
  if (command.children[0] != nullptr) {
    Outcome condition = exec(*command.children[0]);
    const Truth stops = command.until ? Truth::kTrue : Truth::kFalse;
    if (condition.evaluated && condition.truth == stops) return {};
  }
  return exec_abstract_body(command);
}

// Reads a loop's body once, with every variable that it changes unknown.
ShellEvaluator::Outcome ShellEvaluator::exec_abstract_body(const Command& command) {
  const Command& body = *command.children.back();
  const int at_line = line(command.offset);
  const std::string why = fmt::format("changed by the loop of line {}", at_line);
  const State before = state_;
  spend(2 * state_.num_bytes() + 64, command.offset);
  const int launches = num_launches_;
  ++num_silent_;
  exec(body);
  state_ = merge(std::move(state_), before, at_line, why);
  --num_silent_;
  // A loop within such a run: once is enough, else nested loops would double the work each.
  if (num_silent_ > 0) return {};
  num_launches_ = launches;
  const State changed = state_;
  ++num_loops_;
  const Outcome outcome = exec(body);
  --num_loops_;
  (void)outcome;
  state_ = merge(std::move(state_), changed, at_line, why);
  if (num_launches_ != launches && num_silent_ == 0) {
    note_unknown(at_line,
                 "a loop starts the job; its body is read once, with the loop's variables unknown");
  }
  return {};
}

ShellEvaluator::Outcome ShellEvaluator::exec_test(const Command& command) {
  std::vector<TestItem> items;
  for (const TestToken& token : command.test) {
    TestItem item;
    item.op = token.op;
    bool known = true;
    if (token.op.empty()) {
      item.value = expand_text(token.word);
      item.pattern = expand_pattern(token.word, known);
    }
    items.push_back(std::move(item));
  }
  const TestResult result = evaluate_test(items, /*double_bracket=*/true, gaps_);
  if (result.assumed && result.truth != Truth::kUnknown && num_silent_ == 0) {
    add_note(assumptions_, line(command.offset),
             "something unset is taken as empty: " + source_text(command));
  }
  return {Flow::kNext, result.truth, result.assumed, /*evaluated=*/true};
}

ShellEvaluator::Outcome ShellEvaluator::exec_arith(const Command& command) {
  bool assumed = false;
  const auto number = evaluate(expand_text(command.words[0]), assumed);
  Outcome outcome;
  outcome.evaluated = true;
  outcome.assumed = assumed;
  outcome.truth = !number ? Truth::kUnknown : *number != 0 ? Truth::kTrue : Truth::kFalse;
  return outcome;
}

}  // namespace culprit::launch::shell
