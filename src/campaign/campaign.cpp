#include "campaign/campaign.hpp"

#include <algorithm>
#include <map>

#include "campaign/trial_source.hpp"

namespace culprit {
namespace {

// The failing run that shows the combination with the fewest other switches on.
Assignment plain_run(const CommandTarget& target, const Combination& combination) {
  const Assignment off = off_assignment(target.space());
  const Assignment alone = with_settings(off, combination.settings);
  std::vector<Assignment> seen;
  for (const Observation& each : combination.support) seen.push_back(each.assignment);
  for (const Necessity& each : combination.necessity) seen.push_back(each.with.assignment);
  const auto num_on = [&](const Assignment& each) { return differences(off, each).size(); };
  const auto best = std::min_element(
      seen.begin(), seen.end(),
      [&](const Assignment& a, const Assignment& b) { return num_on(a) < num_on(b); });
  return best == seen.end() ? alone : *best;
}

// The program's words about a failing run of this kind.
std::string note_of(const Journal& journal, const Assignment& trial,
                    const std::string& fingerprint) {
  for (std::size_t repeat = 0;; ++repeat) {
    const TrialRecord* record = journal.find(trial, repeat);
    if (!record) return "";
    if (record->trial.fingerprint == fingerprint) return record->note;
  }
}

TrialCost cost_of(const Journal& journal, const Assignment& trial) {
  const TrialRecord* record = journal.find(trial, 0);
  return record && record->trial.status == Trial::Status::kPass ? record->cost : TrialCost{};
}

}  // namespace

Assignment with_fixes(const CommandTarget& target, Assignment trial,
                      const std::vector<std::size_t>& fixes) {
  for (const std::size_t fix : fixes) trial[target.fix_switch(fix)] = 0;
  return trial;
}

TrialCost extra_cost(const CommandTarget& target, const Journal& journal, const FixCell& cell,
                     const std::vector<std::size_t>& fixes) {
  const TrialCost before = cost_of(journal, cell.trial);
  TrialCost extra;
  for (const auto& [name, amount] : cost_of(journal, with_fixes(target, cell.trial, fixes)))
    for (const auto& [other, without] : before)
      if (other == name) extra.emplace_back(name, amount - without);
  return extra;
}

CampaignResult run_campaign(const CommandTarget& target, Journal& journal,
                            const CampaignOptions& options) {
  const auto begin = [&](const char* part) {
    if (options.on_part) options.on_part(part);
  };
  CampaignResult result;
  TrialSource source(make_evaluate(target, journal, options.runner), options.search.max_trials);
  begin("searching");
  result.search = search(target.space(), options.search, [&](std::span<const Assignment> batch) {
    std::vector<Assignment> trials;
    for (const Assignment& each : batch) trials.push_back(target.trial(each));
    return source.run(trials);
  });
  // Silent failures first: they are worse than an error.
  std::stable_partition(
      result.search.combinations.begin(), result.search.combinations.end(),
      [](const Combination& combination) { return is_silent(combination.fingerprint); });
  for (const Combination& combination : result.search.combinations) {
    CombinationDetail detail;
    detail.plain = target.trial(plain_run(target, combination));
    detail.smallest = detail.plain;
    detail.note = note_of(journal, detail.plain, combination.fingerprint);
    result.details.push_back(std::move(detail));
  }
  if (result.search.stopped == SearchStop::kBudget) result.stopped = CampaignStop::kBudget;
  if (result.search.stopped == SearchStop::kEvaluator) result.stopped = source.stopped();
  if (result.stopped == CampaignStop::kComplete && !result.details.empty()) {
    if (!target.spec().sizes.empty()) {
      begin("sizes");
      shrink_details(target, options, source, result);
    }
    if (!target.spec().fixes.empty() && source.stopped() == CampaignStop::kComplete) {
      begin("fixes");
      attribute(target, options, source, result);
    }
    result.stopped = source.stopped();
  }
  result.trials = source.count();
  return result;
}

}  // namespace culprit
