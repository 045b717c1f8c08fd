#include "scenario/scenario.hpp"

#include <algorithm>

#include "autograd/rules.hpp"

namespace culprit {

const Field& field_of(const Scenario& scenario, const std::string& name) {
  for (const Field& own : scenario.own_toggles)
    if (own.name == name) return own;
  return field(name);
}

void apply_settings(const Scenario& scenario, Cell& cell, const Settings& settings) {
  bool blocks_given = false;
  for (const auto& [name, value] : settings) {
    blocks_given |= name == "blocks";
    field_of(scenario, name).set(cell, value);
  }
  if (!blocks_given) cell.blocks = default_blocks(cell.pp);
}

Cell claim_cell(const Scenario& scenario) {
  Cell cell;
  apply_settings(scenario, cell, scenario.claim);
  return cell;
}

Cell clean_cell(const Scenario& scenario) {
  Cell cell = claim_cell(scenario);
  const int blocks = cell.blocks;
  apply_settings(scenario, cell, scenario.clean);
  const bool blocks_given = std::any_of(scenario.clean.begin(), scenario.clean.end(),
                                        [](const auto& setting) { return setting.first == "blocks"; });
  if (!blocks_given) cell.blocks = blocks;  // the twin keeps the claim's depth
  return cell;
}

std::string why_not_modelled(const Scenario& scenario, const Cell& cell) {
  if (!scenario.reads_released_output || !scenario.reads_released_output(cell) ||
      rules_of(cell.framework).models_released_reads)
    return "";
  return cell.framework + ": what becomes of a released output that is read is not modelled";
}

}  // namespace culprit
