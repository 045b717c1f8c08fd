// Support: cells from settings, and what one comes to.
#pragma once

#include "outcome/run_once.hpp"
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {

inline Cell cell_of(const Settings& settings) {
  Cell cell;
  apply_settings(scenario_named("skip_identity_leaf"), cell, settings);
  return cell;
}
inline const Model& stack() {
  static const Model model = make_model<StackModel>();
  return model;
}
inline Outcome outcome_of(const Settings& settings) { return run_once(stack(), cell_of(settings)); }
inline std::string name_of(const Outcome& outcome) { return std::string(row_of(outcome.outcome).name); }

}  // namespace culprit::test
