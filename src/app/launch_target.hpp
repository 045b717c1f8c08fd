// A launch script as the target of an isolation, and back: what it says -> settings of a scenario;
// a minimal combination -> edits of the script.
#pragma once

#include <optional>
#include <vector>

#include "campaign/scenario_target.hpp"
#include "isolate/settings.hpp"
#include "launch/launch_emit.hpp"
#include "launch/launch_mapping.hpp"

namespace culprit {

// Adds the script's sizes and switches to the request; a switch that the script turns on and that
// is not one of the scenario's matrix (the overlap path, delayed loss division, released outputs)
// is searched too. The sizes are complete (complete_sizes).
void add_launch(const launch::LaunchMapping& mapping, ScenarioRequest& request);

// The switches that the script has on and the combination does not need, to be turned off; nullopt
// when the combination needs one on that the script has off.
std::optional<std::vector<launch::LaunchEdit>> edits_for(const launch::LaunchMapping& mapping,
                                                         const Space& space,
                                                         const SettingSet& settings);

}  // namespace culprit
