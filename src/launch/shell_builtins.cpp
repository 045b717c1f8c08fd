// Simple commands: assignments, the builtins that change what follows, files the script writes
// itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launch/shell_arith.hpp"
#include "launch/shell_eval.hpp"

namespace culprit::launch::shell {

namespace {

bool is_declaration(std::string_view name) {
  return name == "export" || name == "declare" || name == "local" || name == "readonly" ||
         name == "typeset";
}

bool is_open_world(std::string_view name) { return name == "source" || name == "."; }

}  // namespace

void ShellEvaluator::set_scalar(const std::string& name, Value value) {
  state_.variables[name] = {false, {{std::move(value), {}, 0}}};
}

void ShellEvaluator::set_unknown(const std::string& name, int at_line, const std::string& source,
                                 const std::string& why) {
  set_scalar(name, gaps_.make({Gap::Kind::kUnknown, at_line, source, why}));
}

// The item of a scalar or array; null if there is none.
Field* ShellEvaluator::element(const std::string& name, const std::string& subscript) {
  const auto found = state_.variables.find(name);
  if (found == state_.variables.end()) return nullptr;
  std::size_t index = 0;
  if (!subscript.empty() && subscript != "@" && subscript != "*") {
    bool assumed = false;
    std::string expression = subscript;
    if (expression.starts_with('$')) expression.erase(0, 1);
    const auto number = evaluate(literal(expression), assumed);
    if (!number || *number < 0 || *number > 4096) return nullptr;
    index = static_cast<std::size_t>(*number);
  }
  auto& items = found->second.items;
  return index < items.size() ? &items[index] : nullptr;
}

void ShellEvaluator::assign(const Assignment& assignment) {
  const std::string& name = assignment.name;
  if (assignment.is_array) {
    std::vector<Field> items = expand_all(assignment.elements);
    auto& variable = state_.variables[name];
    if (!assignment.append) variable.items.clear();
    variable.is_array = true;
    for (Field& item : items) variable.items.push_back(std::move(item));
    return;
  }
  Value value = expand_text(assignment.value);
  if (!assignment.subscript.empty()) {
    bool assumed = false;
    const auto index = evaluate(literal(assignment.subscript), assumed);
    auto& variable = state_.variables[name];
    variable.is_array = true;
    if (!index || *index < 0 || *index > 4096) {
      variable.items = {
          {gaps_.make({Gap::Kind::kUnknown, line(assignment.range.begin), "${" + name + "[...]}",
                       "an array by name or by an unknown index"}),
           {},
           line(assignment.range.begin)}};
      return;
    }
    if (variable.items.size() <= static_cast<std::size_t>(*index)) {
      variable.items.resize(static_cast<std::size_t>(*index) + 1);
    }
    variable.items[static_cast<std::size_t>(*index)] = {
        std::move(value), script_range(assignment.value.range), line(assignment.range.begin)};
    return;
  }
  if (assignment.append) {
    Field* before = element(name, "");
    if (before != nullptr) {
      before->value.append(value);
      return;
    }
  }
  auto& variable = state_.variables[name];
  if (variable.is_array && !variable.items.empty()) {
    variable.items[0].value = std::move(value);
  } else {
    variable = {false, {{std::move(value), {}, 0}}};
  }
}

ShellEvaluator::Outcome ShellEvaluator::exec_simple(const Command& command) {
  std::vector<Field> argv = expand_all(command.words);
  const std::string name = argv.empty() ? std::string() : argv[0].value.text;
  if (argv.empty() || is_declaration(name)) {
    for (const Assignment& assignment : command.assigns) assign(assignment);
    if (argv.empty() && command.assigns.empty()) write_files(command, argv);
    return {};
  }
  // NAME=value before a command only reaches that command.
  const auto function = functions_.find(name);
  if (function != functions_.end()) {
    function->second.called = true;
    const Function callee = function->second;
    return call(callee, argv);
  }
  write_files(command, argv);
  Outcome outcome;
  if (builtin(command, argv, outcome)) return outcome;
  if (num_silent_ == 0 && name.starts_with("--")) {
    note_unknown(
        line(command.offset),
        fmt::format(
            "{} is not part of the launch: a comment or a missing \\ ends it before this line",
            display(argv[0].value)));
  }
  Invocation invocation;
  invocation.argv = std::move(argv);
  for (const Redirect& redirect : command.redirects) {
    if (redirect.here) invocation.input = expand_text(redirect.here->body);
    if (redirect.op == "<<<") invocation.input = expand_text(redirect.target);
  }
  invocation.line = line(command.offset);
  invocation.conditional = num_conditions_ > 0;
  invocation.looped = num_loops_ > 0;
  invocation.trial = num_silent_ > 0;
  on_command_(invocation);
  return outcome;
}

// Where the script hands on its own arguments ("$@"), neither they nor their number are known.
void ShellEvaluator::set_positional(std::vector<Field> arguments) {
  const auto open = std::find_if(arguments.begin(), arguments.end(), [&](const Field& field) {
    const Gap* gap = gaps_.first(field.value);
    return gap != nullptr && gap->all_arguments;
  });
  state_.more_positional = open != arguments.end();
  arguments.erase(open, arguments.end());
  state_.positional = std::move(arguments);
}

ShellEvaluator::Outcome ShellEvaluator::call(const Function& function,
                                             const std::vector<Field>& argv) {
  std::vector<Field> positional = state_.positional;
  const bool more = state_.more_positional;
  set_positional({argv.begin() + 1, argv.end()});
  const Source* source = std::exchange(source_, function.source);
  const std::shared_ptr<Command> body = function.body;
  Outcome outcome = exec(*body);
  source_ = source;
  state_.more_positional = more;
  state_.positional = std::move(positional);
  if (outcome.flow == Flow::kReturn) outcome.flow = Flow::kNext;
  outcome.evaluated = false;
  outcome.truth = Truth::kTrue;
  return outcome;
}

TestResult ShellEvaluator::bracket(const std::vector<Field>& argv) {
  std::vector<TestItem> items;
  std::size_t end = argv.size();
  if (argv[0].value.text == "[" && end > 1 && argv[end - 1].value.text == "]") --end;
  for (std::size_t i = 1; i < end; ++i) items.push_back({"", argv[i].value, ""});
  return evaluate_test(items, /*double_bracket=*/false, gaps_);
}

bool ShellEvaluator::builtin(const Command& command, const std::vector<Field>& argv,
                             Outcome& outcome) {
  const std::string& name = argv[0].value.text;
  const int at_line = line(command.offset);
  if (name == "[" || name == "test") {
    const TestResult result = bracket(argv);
    outcome = {Flow::kNext, result.truth, result.assumed, /*evaluated=*/true};
    if (result.assumed && result.truth != Truth::kUnknown && num_silent_ == 0) {
      add_note(assumptions_, at_line, "something unset is taken as empty: " + source_text(command));
    }
  } else if (name == "true" || name == ":" || name == "false") {
    outcome.truth = name == "false" ? Truth::kFalse : Truth::kTrue;
    outcome.evaluated = true;
  } else if (name == "exit" || name == "return") {
    outcome.flow = name == "exit" ? Flow::kExit : Flow::kReturn;
  } else if (name == "break" || name == "continue") {
    outcome.flow = name == "break" ? Flow::kBreak : Flow::kNext;
  } else if (name == "unset") {
    for (std::size_t i = 1; i < argv.size(); ++i) state_.variables.erase(argv[i].value.text);
  } else if (name == "shift") {
    if (!state_.positional.empty()) state_.positional.erase(state_.positional.begin());
  } else if (name == "set") {
    if (argv.size() > 1 && argv[1].value.text == "--") {
      set_positional({argv.begin() + 2, argv.end()});
    }
  } else if (name == "let") {
    for (std::size_t i = 1; i < argv.size(); ++i) {
      bool assumed = false;
      (void)evaluate(argv[i].value, assumed);
    }
  } else if (name == "read" || name == "mapfile" || name == "readarray" || name == "getopts") {
    for (std::size_t i = 1; i < argv.size(); ++i) {
      const std::string& variable = argv[i].value.text;
      if (variable.empty() || variable[0] == '-' || variable.find('\0') != std::string::npos)
        continue;
      set_unknown(variable, at_line, "$" + variable, "read from an input that is not known");
    }
  } else if (is_open_world(name)) {
    state_.open_world = true;
    if (num_silent_ == 0) {
      note_unknown(at_line, fmt::format("reads another script, which is not followed: {}",
                                        argv.size() > 1 ? display(argv[1].value) : std::string()));
    }
  } else if (name == "cd" || name == "pushd") {
    // `cd $(dirname $0)` stays beside the script.
    const std::string target = argv.size() > 1 ? display(argv[1].value) : std::string();
    const bool own = target.find("dirname") != std::string::npos || target == ".";
    if (!own && state_.folder_changed_line == 0) state_.folder_changed_line = at_line;
  } else if (name == "eval" || name == "exec") {
    Value text;
    for (std::size_t i = 1; i < argv.size(); ++i) {
      if (i > 1) text.append(literal(" "));
      text.append(argv[i].value);
    }
    if (name == "exec" && argv.size() > 1) return false;  // a launch may follow
    run_text(text, at_line);
  } else {
    return name == "echo" || name == "printf" || name == "cat" || name == "tee";
  }
  return true;
}

// Remembers what the script writes into a file: `cat <<EOF > F`, `echo ... > F`. Any other
// command's output makes the file unknown.
void ShellEvaluator::write_files(const Command& command, const std::vector<Field>& argv) {
  const std::string name = argv.empty() ? std::string() : argv[0].value.text;
  Value content;
  bool known = false;
  for (const Redirect& redirect : command.redirects) {
    if (redirect.here && (name == "cat" || name == "tee")) {
      content = expand_text(redirect.here->body);
      known = argv.size() == 1 || name == "tee";
    }
  }
  if (name == "echo") {
    known = true;
    for (std::size_t i = 1; i < argv.size(); ++i) {
      if (i == 1 && (argv[i].value.text == "-e" || argv[i].value.text == "-n")) continue;
      content.append(argv[i].value);
      content.append(literal(i + 1 < argv.size() ? " " : "\n"));
    }
  }
  const auto write = [&](const Value& target, bool append) {
    File& file = state_.files[display(target)];
    if (append && file.known && known) {
      file.content.append(content);
    } else {
      file.known = known && !append;
      file.content = content;
    }
    file.line = line(command.offset);
  };
  for (const Redirect& redirect : command.redirects) {
    const std::string& op = redirect.op;
    if (op == ">" || op == ">|" || op == "&>" || op == ">>" || op == "&>>") {
      write(expand_text(redirect.target), op.ends_with(">>"));
    }
  }
  if (name == "tee") {
    for (std::size_t i = 1; i < argv.size(); ++i) write(argv[i].value, false);
  }
}

}  // namespace culprit::launch::shell
