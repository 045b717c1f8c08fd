// Support: the minimal failing combinations of the shipped scenarios, and the files made of them.
#pragma once

#include <string>
#include <vector>

#include "outcome/run_once.hpp"
#include "repro_files/repro_files.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {

struct FailingCell {
  const char* name;  // for tests: letters and digits
  const char* scenario;
  Settings settings;
};

inline const std::vector<FailingCell>& failing_cells() {
  static const std::vector<FailingCell> list{
      {"SkipResidual",
       "skip_identity_leaf",
       {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}}},
      {"SkipPipeline", "skip_identity_leaf", {{"pp", "2"}, {"identity", "skip"}}},
      {"SkipRecompute",
       "skip_identity_leaf",
       {{"pp", "1"}, {"identity", "skip"}, {"recompute", "reentrant"}}},
      {"SkipPipelineRecompute",
       "skip_identity_leaf",
       {{"pp", "2"}, {"identity", "skip"}, {"recompute", "reentrant"}}},
      {"SkipTwoLinears",
       "skip_identity_two_linears",
       {{"pp", "1"}, {"identity", "skip"}, {"fan_out", "2"}}},
      {"SkipTwoLinearsNonReentrant",
       "skip_identity_two_linears_nonreentrant",
       {{"pp", "1"}, {"identity", "skip"}, {"fan_out", "2"}, {"recompute", "nonreentrant"}}},
      {"SkipQlora", "skip_identity_qlora", {{"pp", "1"}, {"identity", "skip"}}},
      {"OverlapStoppedInput",
       "overlap_stopped_input",
       {{"pp", "1"}, {"path", "overlap"}, {"embed", "0"}}},
      {"NotInplaceDropsGrad",
       "not_inplace_drops_grad",
       {{"pp", "1"}, {"identity", "mark_not_inplace"}}},
      {"ReleasedTensorRead",
       "released_tensor_read",
       {{"pp", "2"}, {"release", "1"}, {"recompute", "nonreentrant"}, {"capture", "sent"}}},
      {"CapturedGraphFreed", "released_tensor_read", {{"pp", "1"}, {"recompute", "reentrant"}}},
  };
  return list;
}

// Of which repro.py would be too long.
inline const FailingCell& cell_without_a_script() {
  static const FailingCell cell{"NonReentrantFrozenLinear",
                                "nonreentrant_frozen_linear",
                                {{"pp", "1"}, {"recompute", "nonreentrant"}}};
  return cell;
}

inline ReproRequest request_of(const std::string& scenario_name, const Settings& settings) {
  const Scenario& scenario = scenario_named(scenario_name);
  Cell cell;
  apply_settings(scenario, cell, settings);
  return {scenario, cell, run_once(scenario.model, cell), ""};
}

// The file of that name, at the smallest sizes. Throws std::bad_variant_access where it was
// refused.
inline ReproFile file_of(const FailingCell& cell, std::size_t which) {
  return std::get<ReproFile>(
      make_repro_files(at_smallest_sizes(request_of(cell.scenario, cell.settings)))[which]);
}
inline constexpr std::size_t kPython = 0, kCpp = 1, kTest = 2;

}  // namespace culprit::test
