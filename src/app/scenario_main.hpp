// The main shared by every scenario program.
#pragma once

#include "scenario/scenario.hpp"

namespace culprit {

// Runs one cell of `scenario`, prints one JSON line and returns the outcome's exit status
// (docs/exit_statuses.md). Without flags the cell is the scenario's claim, with --clean its clean twin.
int scenario_main(const Scenario& scenario, int argc, char** argv);

}  // namespace culprit
