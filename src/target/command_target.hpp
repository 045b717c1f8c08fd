// Any command as a target of isolation: what the user's flags say -> a checked description that
// turns an assignment into a process. Everything is checked in the constructor, before the first
// trial. docs/commands.md has the grammar.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isolate/space.hpp"
#include "process/process_runner.hpp"
#include "target/classify.hpp"
#include "target/command_template.hpp"
#include "target/output_pattern.hpp"
#include "target/tensor_dump.hpp"
#include "target/toggle_spec.hpp"
#include "target/variant_spec.hpp"

namespace culprit {

// The flags as given.
struct CommandSpec {
  std::string command;                           // --command, with {toggles}, {NAME}, {dump}, {np}
  std::string launcher;                          // --launcher, with {cmd} and {np}; empty: none
  std::optional<int> np;                         // --np
  std::vector<std::string> toggles;              // --toggle, parse_toggle
  std::vector<std::string> environment_toggles;  // --env-toggle, parse_environment_toggle
  std::vector<std::string> requires_rules;       // --requires
  std::vector<std::string> excludes_rules;       // --excludes
  std::vector<SizeSpec> sizes;                   // --size
  std::vector<CommandFix> fixes;                 // --fix, --env-fix
  std::vector<std::string> fail_patterns;        // --fail-regex, NAME=RE
  std::vector<int> unresolved_statuses;          // --skip-status, beside 77, 125, 126 and 127
  // Set in every trial, before the toggles' own variables.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string dump_path;    // --dump: the file that the program always writes; empty: none
  DumpTolerance tolerance;  // --rtol, --atol
  std::optional<std::chrono::milliseconds>
      timeout;  // --timeout; nullopt: adaptive (command_runner.hpp)
  std::optional<std::chrono::milliseconds>
      stall;                    // --stall: without output or tick; nullopt: not watched
  bool has_error_lines = true;  // a failed exit's fingerprint holds the program's masked error line
};

// "90", "90s", "1.5m", "2h", "500ms" -> milliseconds, at least 1 ms. UsageError naming `flag`.
std::chrono::milliseconds parse_duration(std::string_view flag, std::string_view text);

class CommandTarget {
 public:
  // UsageError where a flag is wrong by itself, a toggle appears in no template, a placeholder is
  // unknown, the launcher has no {cmd}, np and {np} do not go together, constraints contradict
  // all-first or all-off, a value can't be split into words, or the program that is started can't
  // be found.
  explicit CommandTarget(CommandSpec spec);

  // The toggles: what a search looks at.
  const Space& space() const { return space_; }
  // All that a trial can change: the switches of space(), then one for each size (its values
  // rising, the last current), then one for each fix (on, off). The journal's space. Assignments of
  // the functions below are of this space; the last value of each switch is the reference's.
  const Space& trial_space() const { return trial_space_; }
  // An assignment of space() with all sizes as they are and no fix.
  Assignment trial(Assignment toggles) const;
  std::size_t size_switch(std::size_t size) const { return toggles_.size() + size; }
  std::size_t fix_switch(std::size_t fix) const {
    return toggles_.size() + spec_.sizes.size() + fix;
  }
  // Whether the size has a say: false for one that stands for a toggle's first value where the
  // toggle has another.
  bool size_applies(std::size_t size, const Assignment& trial) const;
  // Whether the fix changes anything in the trial.
  bool fix_applies(std::size_t fix, const Assignment& trial) const;

  const CommandSpec& spec() const { return spec_; }
  JudgeRules judge_rules() const {
    return {patterns_, spec_.has_error_lines, spec_.unresolved_statuses};
  }
  Assignment reference() const;  // all off
  Assignment reported() const;   // all first: the reporter's setting
  // "NAME=VALUE" of a toggle, a size or (NAME=on) a fix. UsageError naming `flag` and the nearest.
  Setting setting(std::string_view flag, std::string_view text) const;

  // True when runs are compared by a dump; then each trial needs a path where it is written.
  bool has_dump() const { return has_dump_placeholder_ || !spec_.dump_path.empty(); }
  // True when every trial writes to the same file, so that only one may run at a time.
  bool has_fixed_dump() const { return !spec_.dump_path.empty(); }
  // ".npy" for {dump.npy}, "" for {dump}.
  const std::string& dump_suffix() const { return dump_suffix_; }

  // The process of one assignment, without deadlines. `dump_path` replaces {dump}.
  ProcessRequest request(const Assignment& assignment, const std::string& dump_path) const;
  // The same as a line for a POSIX shell, to repeat a trial by hand: env A=1 -u B python train.py
  // ...
  std::string shell_line(const Assignment& assignment, const std::string& dump_path = "dump") const;
  // All that decides what a trial does and how it is judged, one item a line: a journal of another
  // description must not be continued.
  std::string description() const;

 private:
  void read_toggles();
  void read_templates();
  void read_variants();
  void check_placeholders() const;
  void check_programs() const;
  std::vector<std::string> words_of(const std::string& placeholder, const Assignment& assignment,
                                    const std::string& dump_path) const;
  std::vector<std::string> toggle_words(std::size_t toggle, const Assignment& assignment) const;
  std::vector<std::string> appended_words(const Assignment& assignment) const;
  bool is_on(std::size_t fix, const Assignment& assignment) const {
    return assignment.at(fix_switch(fix)) == 0;
  }
  bool has_placeholder(const std::string& name) const {
    return command_.has(name) || launcher_.has(name);
  }
  const Toggle* toggle_named(const std::string& name) const;

  CommandSpec spec_;
  std::vector<Toggle> toggles_;
  Space space_;
  Space trial_space_;
  CommandTemplate command_;
  CommandTemplate launcher_;
  std::vector<std::vector<std::vector<std::string>>> words_;  // [toggle][value]: its text, split
  std::vector<std::vector<std::string>> fix_words_;           // [fix]: its text, split
  std::vector<OutputPattern> patterns_;
  bool has_dump_placeholder_ = false;
  std::string dump_suffix_;
};

}  // namespace culprit
