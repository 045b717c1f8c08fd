// See certificate_checker.hpp.
#include "isolate/certificate_checker.hpp"

#include <algorithm>
#include <set>

namespace culprit {
namespace {

bool is_valid(const Space& space, const Assignment& assignment) {
  return std::none_of(space.constraints.begin(), space.constraints.end(),
                      [&](const Constraint& one) { return contains(assignment, one.all_of); });
}

}  // namespace

std::string certificate_violation(const Space& space, const Combination& combination,
                                  const std::vector<planted::Bug>& bugs) {
  planted::Program program(bugs);
  const auto fails = [&](const Assignment& assignment) {
    const Trial trial = program.run(assignment);
    return trial.status == Trial::Status::kFail && trial.fingerprint == combination.fingerprint;
  };
  if (!combination.proven) return "not proven: " + combination.incomplete;
  if (combination.necessity.size() != combination.settings.size())
    return "a setting lacks its pair";
  for (std::size_t i = 0; i < combination.settings.size(); ++i) {
    const Necessity& one = combination.necessity[i];
    const Assignment& with = one.with.assignment;
    const Assignment& without = one.without.assignment;
    if (one.setting != combination.settings[i]) return "pairs are not those of the settings";
    if (!is_valid(space, with) || !is_valid(space, without)) return "an invalid run";
    if (!contains(with, combination.settings)) return "the failing run lacks a setting";
    if (contains(without, std::vector<Setting>{one.setting}))
      return "the changed run has the setting";
    if (!contains(without, without_switch(combination.settings, one.setting.which))) {
      return "the changed run lacks another setting";
    }
    if (one.alone && differences(with, without).size() != 1) return "more than one switch differs";
    if (!fails(with) || one.with.failures == 0 || one.with.passes != 0)
      return "with: does not fail";
    if (fails(without) || one.without.failures != 0 || one.without.runs == 0) {
      return "without: still fails";
    }
  }
  std::set<Assignment> support;
  for (const Observation& seen : combination.support) {
    if (!is_valid(space, seen.assignment)) return "an invalid supporting run";
    if (!contains(seen.assignment, combination.settings)) return "a supporting run lacks a setting";
    if (!fails(seen.assignment) || seen.failures == 0) return "a supporting run does not fail";
    support.insert(seen.assignment);
  }
  if (support.size() != combination.support.size()) return "a supporting run is listed twice";
  if (support.empty()) return "no supporting run";
  if (combination.rate.runs == 0 || combination.rate.failures != combination.rate.runs) {
    return "the rate is not that of a failure which always shows";
  }
  return "";
}

}  // namespace culprit
