// See coverage.hpp.
#include "isolate/coverage.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "isolate/tuple_table.hpp"

namespace culprit {
namespace {

// Whether a run with the tuple exists; remembered by the settings that the nogoods mention.
class Feasibility {
 public:
  explicit Feasibility(Nogoods nogoods) : nogoods_(std::move(nogoods)) {}

  bool operator()(const SettingSet& tuple) {
    SettingSet key;
    for (const Setting& one : tuple) {
      if (nogoods_.mentions(one.which)) key.push_back(one);
    }
    const auto [place, is_new] = known_.try_emplace(key, false);
    if (is_new) {
      Domains domains = nogoods_.full_domains();
      place->second = nogoods_.assign(domains, key) && nogoods_.solvable(domains);
    }
    return place->second;
  }

 private:
  Nogoods nogoods_;
  std::map<SettingSet, bool> known_;
};

}  // namespace

StrengthCoverage measure_coverage(const SearchState& state, int strength) {
  enum Seen : std::uint8_t { kPassed = 1, kFailedByKnown = 2 };
  const TupleTable table(state.space, strength);
  std::vector<std::uint8_t> seen(table.size(), 0);
  const std::size_t passes_wanted = state.passes_wanted();
  for (const LedgerEntry& entry : state.ledger.entries()) {
    const RunCounts& counts = entry.counts;
    std::uint8_t mark = 0;
    if (counts.failures.empty()) {
      if (counts.passes >= passes_wanted) mark = kPassed;
    } else if (std::all_of(counts.failures.begin(), counts.failures.end(),
                           [&](const auto& failure) {
                             return state.is_explained(entry.assignment, failure.first);
                           })) {
      mark = kFailedByKnown;
    }
    if (mark != 0)
      table.for_each(entry.assignment, [&](std::size_t index) { seen[index] |= mark; });
  }
  Nogoods clean = state.constraints;
  for (const Known& known : state.known) clean.add(known.settings);
  Feasibility is_valid(state.constraints);
  Feasibility can_be_clean(clean);
  StrengthCoverage coverage;
  coverage.strength = strength;
  coverage.total = table.size();
  for (std::size_t index = 0; index < table.size(); ++index) {
    if ((seen[index] & kPassed) != 0) {
      ++coverage.run;
      continue;
    }
    const SettingSet tuple = table.tuple(index);
    const bool fails_itself =
        std::any_of(state.known.begin(), state.known.end(),
                    [&](const Known& known) { return is_subset(known.settings, tuple); });
    if (!is_valid(tuple)) {
      ++coverage.invalid;
    } else if (fails_itself && (seen[index] & kFailedByKnown) != 0) {
      ++coverage.run;
    } else if ((seen[index] & kFailedByKnown) != 0 || !can_be_clean(tuple)) {
      ++coverage.masked;
    } else {
      ++coverage.left_out;
    }
  }
  return coverage;
}

}  // namespace culprit
