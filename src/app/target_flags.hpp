// The flags that describe a target of isolation, shared by `culprit isolate` and `culprit check`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "campaign/scenario_target.hpp"
#include "launch/launch_mapping.hpp"
#include "launch/launch_script.hpp"
#include "target/command_target.hpp"

namespace CLI {
class App;
}

namespace culprit {

// A launch script and what it means.
struct LaunchInput {
  launch::LaunchScript script;
  launch::LaunchMapping mapping;
};

struct ChosenTarget {
  std::unique_ptr<CommandTarget> target;
  const Scenario* scenario = nullptr;  // null: a command
  ScenarioRequest request;             // of the scenario
  std::optional<LaunchInput> launch;   // --from
};

class TargetFlags {
 public:
  explicit TargetFlags(CLI::App& app);
  ~TargetFlags();
  // After parsing. True when a command, a scenario or a launch script was named.
  bool is_given() const;
  // Errors: UsageError for neither or both kinds of target, for flags of the other kind, and as
  // CommandTarget and scenario_command.
  ChosenTarget choose() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace culprit
