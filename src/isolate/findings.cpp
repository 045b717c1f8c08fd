// See findings.hpp.
#include "isolate/findings.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "isolate/coverage.hpp"
#include "isolate/support.hpp"

namespace culprit {
namespace {

constexpr std::size_t kListedSupport = 8;
constexpr int kReportedStrengths = 3;

// Failures that a stopped search had no trials left to reduce: one for each fingerprint, the
// plainest.
void report_unreduced(SearchState& state, SearchResult& result) {
  std::map<std::size_t, Observation> open;
  const std::vector<LedgerEntry> entries = state.ledger.entries();
  for (const LedgerEntry& entry : entries) {
    for (const auto& [fingerprint, count] : entry.counts.failures) {
      if (state.is_settled(entry.assignment, fingerprint)) continue;
      const auto place = open.find(fingerprint);
      if (place == open.end() || differences(state.off, entry.assignment).size() <
                                     differences(state.off, place->second.assignment).size()) {
        open[fingerprint] = state.observe(entry.assignment, fingerprint);
      }
    }
  }
  for (auto& [fingerprint, seen] : open) {
    result.unreduced.push_back({state.ledger.fingerprint(fingerprint), std::move(seen)});
  }
}

Combination describe(SearchState& state, const Known& known) {
  Combination combination;
  combination.settings = known.settings;
  combination.fingerprint = state.ledger.fingerprint(known.fingerprint);
  for (Necessity necessity : known.necessity) {
    necessity.with = state.observe(necessity.with.assignment, known.fingerprint);
    necessity.without = state.observe(necessity.without.assignment, known.fingerprint);
    combination.necessity.push_back(std::move(necessity));
  }
  combination.support = list_support(state, known, kListedSupport);
  combination.flaky = state.is_flaky(known.fingerprint);
  combination.rate = known.fresh_rate;
  if (combination.rate.runs == 0) {
    for (const Observation& seen : list_support(state, known, state.ledger.entries().size())) {
      combination.rate.failures += seen.failures;
      combination.rate.runs += seen.runs - seen.unresolved;
    }
  }
  combination.rate.interval = clopper_pearson(combination.rate.failures, combination.rate.runs);
  combination.proven =
      known.necessary && known.supported && !known.stuck && known.built_flaky == combination.flaky;
  if (!combination.proven) {
    combination.incomplete = known.stuck       ? "runs contradict each other"
                             : known.necessary ? "support is incomplete"
                             : known.supported ? "a setting is not shown to be necessary"
                                               : "support and necessity are incomplete";
  }
  return combination;
}

}  // namespace

void describe_findings(SearchState& state, SearchResult& result) {
  for (const Known& known : state.known) result.combinations.push_back(describe(state, known));
  std::sort(result.combinations.begin(), result.combinations.end(),
            [](const Combination& left, const Combination& right) {
              if (left.settings.size() != right.settings.size()) {
                return left.settings.size() < right.settings.size();
              }
              return std::tie(left.settings, left.fingerprint) <
                     std::tie(right.settings, right.fingerprint);
            });
  for (const auto& [assignment, fingerprint] : state.unreproduced) {
    if (state.is_explained(assignment, fingerprint)) continue;
    result.unreproduced.push_back(
        {state.ledger.fingerprint(fingerprint), state.observe(assignment, fingerprint)});
  }
  report_unreduced(state, result);
  const int strongest = std::min(kReportedStrengths, static_cast<int>(state.space.switches.size()));
  for (int strength = 1; strength <= strongest; ++strength) {
    result.coverage.push_back(measure_coverage(state, strength));
  }
  result.trials = state.ledger.num_trials();
  for (const LedgerEntry& entry : state.ledger.entries()) {
    result.distinct_assignments += entry.counts.runs > 0 ? 1 : 0;
  }
  result.flaky = state.repeats_passes();
}

}  // namespace culprit
