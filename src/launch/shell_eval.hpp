// Evaluator of the command tree: keeps variables, takes the branches it can decide, follows both
// where it can't, and hands every command that is not a shell builtin to its owner. Nothing is
// executed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launch/launch_script.hpp"
#include "launch/shell_ast.hpp"
#include "launch/shell_test.hpp"
#include "launch/shell_value.hpp"

namespace culprit::launch::shell {

// One word after expansion.
struct Field {
  Value value;
  SourceRange written;  // range in the script, {0,0} if none
  int used_line = 0;
};

struct Invocation {
  std::vector<Field> argv;     // not empty
  std::optional<Value> input;  // a here-document or here-string it reads
  int line = 0;
  bool conditional = false;
  bool looped = false;
  bool trial = false;  // a silent first run of a loop's body: count it if it launches, keep nothing
};

class ShellEvaluator {
 public:
  // `script` must outlive the object. `on_command` is called in script order.
  // `unset_is_empty`: in tests, arguments and variables that the script never assigns count as
  // empty, as they are when it runs alone; false: they are unknown, so that every way they could
  // decide is followed.
  ShellEvaluator(std::string_view script, bool unset_is_empty,
                 std::function<void(const Invocation&)> on_command);

  // Sets a variable that comes from outside of the script's commands, before run().
  void preset(const std::string& name, const BatchNumber& number);

  // Parses and evaluates the script. Throws UsageError: syntax, or a limit reached.
  void run();
  // Reads the functions that nothing called, as a script that is not followed may call them
  // (`source common.sh; run_all`). Only to be used where run() found no launch.
  void run_uncalled_functions();
  // Evaluates a command line held in a value (bash -c, eval) where the script stands now.
  void run_text(const Value& text, int line);

  // How often a command was handed over so far counts as "a launch" is the owner's to say: loops
  // whose body launches are read once, others are unrolled.
  void count_launch() { ++num_launches_; }

  struct File {
    Value content;
    bool known = false;
    int line = 0;
  };
  const std::map<std::string, File>& files() const { return state_.files; }
  const std::vector<LaunchNote>& unknowns() const { return unknowns_; }
  const std::vector<LaunchNote>& assumptions() const { return assumptions_; }
  void note_unknown(int line, std::string text) { add_note(unknowns_, line, std::move(text)); }
  const GapTable& gaps() const { return gaps_; }
  std::string display(const Value& value) const;  // gaps as written in the script
  int line_at(std::uint32_t script_offset) const;
  // Line of the command that is being evaluated.
  int current_line() const { return current_line_; }
  // Line of the last `cd` whose target is not the script's own folder; 0 if none.
  int folder_changed_line() const { return state_.folder_changed_line; }

 private:
  struct Variable {
    bool is_array = false;
    std::vector<Field> items;  // a scalar has one
    bool same_as(const Variable& other) const;
  };
  struct Source {  // a text that was parsed, and where its bytes come from
    std::string text;
    std::vector<std::uint32_t> origin;  // empty: the script itself
    std::vector<SourceRange> through;
    int line = 0;
  };
  struct Function {
    std::shared_ptr<Command> body;
    const Source* source = nullptr;
    bool called = false;
  };
  struct State {
    std::map<std::string, Variable> variables;
    std::vector<Field> positional;
    bool more_positional = true;  // arguments of the script that are not known may follow
    bool open_world = false;  // after `source`, `eval` of unknowns: a variable may be set elsewhere
    int folder_changed_line = 0;
    std::map<std::string, File> files;
    std::size_t num_bytes() const;
  };
  enum class Flow { kNext, kExit, kReturn, kBreak };
  struct Outcome {
    Flow flow = Flow::kNext;
    Truth truth = Truth::kTrue;  // exit status; kTrue also for a command that is taken to succeed
    bool assumed = false;
    bool evaluated = false;  // the truth was computed, not taken for granted
  };

  // shell_expand.cpp
  std::vector<Field> expand(const ShellWord& word);  // with word splitting
  std::vector<Field> expand_all(const std::vector<ShellWord>& words);
  Value expand_text(const ShellWord& word);  // without
  std::string expand_pattern(const ShellWord& word, bool& known);
  void expand_part(const Part& part, bool split, std::vector<Field>& fields, bool& open);
  Value param_value(const Part& part);
  Value apply_operator(const Part& part, Value value, bool is_set);
  Value arith_value(const Part& part);
  std::optional<std::int64_t> evaluate(const Value& expression, bool& assumed);
  std::vector<Field> all_items(const Part& part);
  Value unset_value(const std::string& name, const Part& part);
  Value text_value(const Part& part) const;
  const Variable* find(const std::string& name) const;
  Field* element(const std::string& name, const std::string& subscript);
  SourceRange script_range(SourceRange range) const;
  int line(std::uint32_t offset) const;
  void mark_through(Value& value, SourceRange range);

  // shell_exec.cpp
  Outcome exec(const Command& command);
  Outcome exec_kind(const Command& command);
  Outcome exec_sequence(const Command& command);
  Outcome exec_and_or(const Command& command);
  Outcome exec_if(const Command& command, std::size_t index);
  Outcome exec_case(const Command& command, std::size_t index);
  Outcome exec_for(const Command& command);
  Outcome exec_loop(const Command& command);
  Outcome exec_abstract_body(const Command& command);
  Outcome exec_test(const Command& command);
  Outcome exec_arith(const Command& command);
  Outcome exec_pipeline(const Command& command);
  Outcome both_ways(int at_line, const std::string& why, const std::function<Outcome()>& yes,
                    const std::function<Outcome()>& no);
  State merge(State yes, State no, int at_line, const std::string& why);
  std::string source_text(const Command& command) const;

  // shell_builtins.cpp
  Outcome exec_simple(const Command& command);
  void assign(const Assignment& assignment);
  void set_scalar(const std::string& name, Value value);
  void set_unknown(const std::string& name, int at_line, const std::string& source,
                   const std::string& why);
  bool builtin(const Command& command, const std::vector<Field>& argv, Outcome& outcome);
  void set_positional(std::vector<Field> arguments);
  Outcome call(const Function& function, const std::vector<Field>& argv);
  void write_files(const Command& command, const std::vector<Field>& argv);
  TestResult bracket(const std::vector<Field>& argv);

  State snapshot(std::uint32_t offset);
  void spend(std::size_t bytes, std::uint32_t offset);
  static void add_note(std::vector<LaunchNote>& notes, int line, std::string text);

  std::string_view script_;
  bool unset_is_empty_;
  std::vector<std::uint32_t> newlines_;
  std::function<void(const Invocation&)> on_command_;
  GapTable gaps_;
  State state_;
  std::map<std::string, Function> functions_;
  std::vector<std::unique_ptr<Source>> sources_;
  const Source* source_ = nullptr;
  std::vector<LaunchNote> unknowns_;
  std::vector<LaunchNote> assumptions_;
  std::size_t spent_ = 0;
  int num_launches_ = 0;
  int num_conditions_ = 0;  // unknown conditions we are inside of
  int num_loops_ = 0;       // loops read once that we are inside of
  int num_silent_ = 0;      // trial runs of a loop body: report nothing
  int depth_ = 0;
  int current_line_ = 1;
};

}  // namespace culprit::launch::shell
