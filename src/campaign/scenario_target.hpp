// A scenario of this project as a command target, so that both kinds of target run, are judged and
// are recorded in one way: scenario + settings -> CommandSpec. What the scenario declares to fail
// is not read: only its model's program, its switches and its claim.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "target/command_target.hpp"

namespace culprit {

struct ScenarioRequest {
  // Sizes, pinned toggles, and for the switches of the matrix the reporter's own value, as flags or
  // a launch script give them. Empty: the claim's switches.
  Settings given;
  // Further fields to search, "NAME" (all its values) or "NAME=VALUE|VALUE" (the last is off).
  std::vector<std::string> vary;
  std::filesystem::path program;  // the scenario's
};

// The switches are those of the scenario's matrix: a pipeline switch where pp is above 1, recompute
// where it was given (or nothing was), else by the scenario's list. A switch has the reporter's
// value first, then the claim's; of a field with two values the other one, of recompute both kinds;
// off last. Combinations that can't be run become constraints. All sizes of the cell table that are
// above their least value can be shrunk. Fixes are those of matrix/fixes.hpp that concern a switch.
// Errors: UsageError for an unknown name or value, or a cell that can't be run.
CommandSpec scenario_command(const Scenario& scenario, const ScenarioRequest& request);

// The cell of a trial of a target that scenario_command described.
Cell cell_of_trial(const Scenario& scenario, const ScenarioRequest& request,
                   const CommandTarget& target, const Assignment& trial);

}  // namespace culprit
