// Which commands start a training program: launchers, what wraps them, and where the program
// begins.
#pragma once

#include <utility>
#include <vector>

#include "launch/launch_script.hpp"
#include "launch/shell_eval.hpp"

namespace culprit::launch::shell {

class LaunchFinder {
 public:
  explicit LaunchFinder(ShellEvaluator*& evaluator) : evaluator_(evaluator) {}

  // Looks at one command; a launch is kept. The evaluator must stand where the command is.
  void inspect(const Invocation& invocation);

  std::vector<Launch> take() { return std::exchange(launches_, {}); }

 private:
  struct Outer {  // a launcher whose command line is a string (srun ... bash -c "...")
    std::vector<LaunchWord> args;
    bool has_launcher = false;
    Launcher launcher = Launcher::kPython;
  };
  void inspect_submission(const Invocation& invocation);
  void note_other_script(const Invocation& invocation, const Value& name);
  LaunchWord to_word(const Field& field) const;
  std::size_t find_program(const std::vector<Field>& argv, std::size_t from, bool& module) const;

  ShellEvaluator*& evaluator_;
  std::vector<Launch> launches_;
  Outer outer_;
};

}  // namespace culprit::launch::shell
