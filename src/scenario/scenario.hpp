// A scenario: one published or measured bug as a short file under repro/. It builds its model from engine
// calls and declares its claim; flags, help, matrix, report and tests come from that.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/exit_status.hpp"
#include "config/cell.hpp"
#include "engine/model.hpp"

namespace culprit {

// name = value of the table in config/cell.hpp (sizes too).
using Settings = std::vector<std::pair<std::string, std::string>>;

// A declared minimal failing combination: every cell of the matrix that contains none of a scenario's
// passes. Neither engine nor judge reads it.
struct DeclaredFailure {
  Settings switches = {};
  OutcomeClass outcome = OutcomeClass::kError;
  std::string kind;   // of an error
  std::string phase;  // forward | recompute | backward
};

struct Scenario {
  std::string name;
  std::string title;     // one line, as a bug's headline
  std::string upstream;  // the public thread, or how it was found
  Model model;
  std::vector<Field> own_toggles = {};  // what the common table lacks; the model reads them by own_value
  std::vector<std::string> toggles;     // the switches of its matrix, by name, in the order of display
  Settings claim;  // the flags that show the bug, on top of the defaults
  Settings clean;  // the clean twin: what differs from the claim so that it passes
  DeclaredFailure expected;                // what the claim comes to (its switches are the claim)
  std::vector<DeclaredFailure> minimal;    // over the main matrix
  // Whether its model reads an output that its stage released in that cell (rule 31); null: in none.
  bool (*reads_released_output)(const Cell& cell) = nullptr;
};

// Why it is not known what the cell's framework makes of the cell; empty where it is known.
std::string why_not_modelled(const Scenario& scenario, const Cell& cell);

// The scenario's cell when no flag is given: defaults + claim (+ clean).
Cell claim_cell(const Scenario& scenario);
Cell clean_cell(const Scenario& scenario);
// The scenario's own toggle of that name, else the common field. Errors: UsageError.
const Field& field_of(const Scenario& scenario, const std::string& name);
// Applies settings; `blocks` follows pp unless set. Errors: UsageError.
void apply_settings(const Scenario& scenario, Cell& cell, const Settings& settings);

// All scenarios, in the order of repro/CMakeLists.txt.
const std::vector<const Scenario*>& all_scenarios();
// The toggles that only some scenarios have, each name once.
std::vector<Field> all_own_toggles();
// Errors: UsageError with the name and the nearest one.
const Scenario& scenario_named(const std::string& name);

}  // namespace culprit
