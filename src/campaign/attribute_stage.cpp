#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "campaign/trial_source.hpp"
#include "isolate/sequential_test.hpp"

namespace culprit {
namespace {

// The plain failing cells, each once, then the cells that passed one setting away from them, and
// the reference.
std::vector<FixCell> fix_cells(const CommandTarget& target, const CampaignResult& result) {
  std::vector<FixCell> cells;
  for (std::size_t c = 0; c < result.details.size(); ++c) {
    const Assignment& plain = result.details[c].plain;
    const auto known = std::find_if(cells.begin(), cells.end(),
                                    [&](const FixCell& cell) { return cell.trial == plain; });
    if (known != cells.end())
      known->combinations.push_back(c);
    else
      cells.push_back({plain, {c}});
  }
  std::set<Assignment> passing{target.reference()};
  cells.push_back({target.reference(), {}});
  for (const Combination& combination : result.search.combinations)
    for (const Necessity& necessity : combination.necessity) {
      const Observation& seen = necessity.without;
      if (seen.passes == 0 || seen.passes != seen.runs) continue;
      const Assignment trial = target.trial(seen.assignment);
      if (passing.insert(trial).second) cells.push_back({trial, {}});
    }
  return cells;
}

// Two fixes that replace the same thing can't be had together.
bool can_be_joined(const CommandTarget& target, const std::vector<std::size_t>& fixes) {
  if (fixes.size() < 2) return true;
  const CommandFix& first = target.spec().fixes[fixes[0]];
  const CommandFix& second = target.spec().fixes[fixes[1]];
  return first.kind == CommandFix::Kind::kAppend || first.kind != second.kind ||
         first.where != second.where;
}

}  // namespace

void attribute(const CommandTarget& target, const CampaignOptions& options, TrialSource& source,
               CampaignResult& result) {
  FixFinding finding;
  finding.cells = fix_cells(target, result);
  std::vector<Assignment> failing;
  std::vector<Assignment> passing;
  for (const FixCell& cell : finding.cells)
    (cell.combinations.empty() ? passing : failing).push_back(cell.trial);
  FixOptions fix_options;
  fix_options.batch_size = options.search.batch_size;
  const auto is_flaky = [](const Combination& combination) { return combination.flaky; };
  if (std::any_of(result.search.combinations.begin(), result.search.combinations.end(), is_flaky))
    fix_options.repeats = repeats_to_trust_absence(options.search.failure_rate_floor);
  finding.repeats = fix_options.repeats;

  const EvaluateFixes evaluate = [&](std::span<const FixRequest> requests) {
    std::vector<FixObservation> seen(requests.size());
    std::vector<Assignment> trials;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& [cell, fixes] = requests[i];
      seen[i].applicable = can_be_joined(target, fixes) &&
                           std::all_of(fixes.begin(), fixes.end(), [&](std::size_t fix) {
                             return target.fix_applies(fix, cell);
                           });
      if (!seen[i].applicable) continue;
      trials.push_back(with_fixes(target, cell, fixes));
      places.push_back(i);
    }
    const std::vector<Trial> results = trials.empty() ? std::vector<Trial>{} : source.run(trials);
    if (results.size() < trials.size()) seen.resize(places[results.size()]);
    for (std::size_t i = 0; i < results.size(); ++i) {
      seen[places[i]].trial = results[i];
      seen[places[i]].silent = is_silent(results[i].fingerprint);
    }
    return seen;
  };
  try {
    finding.result =
        attribute_fixes(target.spec().fixes.size(), failing, passing, fix_options, evaluate);
    result.fixes = std::move(finding);
  } catch (const UsageError& error) {
    // A cell that came out differently this time: fixes can't be judged against it.
    result.notices.push_back(fmt::format("fixes were not tried: {}", error.what()));
  }
}

}  // namespace culprit
