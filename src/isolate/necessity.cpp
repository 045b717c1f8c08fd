// See necessity.hpp.
#include "isolate/necessity.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "isolate/refine.hpp"

namespace culprit {
namespace {

constexpr int kRandomContexts = 2;

// A run with setting.value and one with `other`, equal in all other switches, both valid and free
// of the listed combinations. The switches' constraints are rewritten for both values at once.
class PairFinder {
 public:
  PairFinder(const SearchState& state, std::size_t number, Setting setting, std::uint16_t other,
             bool avoid_other_fingerprints)
      : state_(state),
        rest_(without_switch(state.known[number].settings, setting.which)),
        setting_(setting),
        other_(other),
        nogoods_(Nogoods::unconstrained(state.space)) {
    for (const Constraint& constraint : state.space.constraints) add(constraint.all_of);
    for (std::size_t i = 0; i < state.known.size(); ++i) {
      if (i == number) continue;
      if (avoid_other_fingerprints ||
          state.known[i].fingerprint == state.known[number].fingerprint) {
        add(state.known[i].settings);
      }
    }
  }

  // Near `context`; nullopt when there is none.
  std::optional<std::pair<Assignment, Assignment>> find(const Assignment& context) const {
    const std::optional<Assignment> base = nogoods_.complete(rest_, context);
    if (!base) return std::nullopt;
    const Setting changed{setting_.which, other_};
    return std::pair(with_settings(*base, std::span(&setting_, 1)),
                     with_settings(*base, std::span(&changed, 1)));
  }

 private:
  void add(const SettingSet& set) {
    SettingSet shared;
    for (const Setting& one : set) {
      if (one.which != setting_.which) {
        shared.push_back(one);
      } else if (one.value != setting_.value && one.value != other_) {
        return;  // neither run has this value
      }
    }
    nogoods_.add(std::move(shared));
  }

  const SearchState& state_;
  SettingSet rest_;
  Setting setting_;
  std::uint16_t other_;
  Nogoods nogoods_;
};

struct PairRuns {
  Assignment with;
  Assignment without;
  bool alone = true;
};

// Candidate pairs for one setting, best first.
std::vector<PairRuns> candidate_pairs(SearchState& state, std::size_t number, Setting setting) {
  const Known& known = state.known[number];
  std::vector<std::uint16_t> others;
  for (std::size_t value = state.space.switches[setting.which].values.size(); value-- > 0;) {
    if (value != setting.value) others.push_back(static_cast<std::uint16_t>(value));  // off first
  }
  std::vector<Assignment> contexts = {state.off, known.witness};
  const SettingSet others_of_set = without_switch(known.settings, setting.which);
  if (const auto alone = state.constraints.plainest(others_of_set, state.off)) {
    contexts.push_back(*alone);
  }
  for (int i = 0; i < kRandomContexts; ++i) contexts.push_back(random_assignment(state));
  std::vector<PairRuns> pairs;
  const auto add = [&](PairRuns pair) {
    const bool seen = std::any_of(pairs.begin(), pairs.end(), [&](const PairRuns& one) {
      return one.with == pair.with && one.without == pair.without;
    });
    if (!seen) pairs.push_back(std::move(pair));
  };
  for (const bool avoid_other_fingerprints : {true, false}) {
    for (const Assignment& context : contexts) {
      for (const std::uint16_t other : others) {
        const PairFinder finder(state, number, setting, other, avoid_other_fingerprints);
        if (auto found = finder.find(context)) {
          add({std::move(found->first), std::move(found->second), /*alone=*/true});
        }
      }
    }
    if (!pairs.empty()) return pairs;
  }
  // Constraints couple the switch with others: let these follow.
  Nogoods without_nogoods = state.constraints;
  for (std::size_t i = 0; i < state.known.size(); ++i) {
    if (i != number && state.known[i].fingerprint == known.fingerprint) {
      without_nogoods.add(state.known[i].settings);
    }
  }
  const SettingSet rest = without_switch(known.settings, setting.which);
  for (const std::uint16_t other : others) {
    const SettingSet changed = united(rest, {{setting.which, other}});
    const auto without = without_nogoods.complete(changed, state.off);
    if (!without) continue;
    const auto with = nogoods_around(state, number).complete(known.settings, *without);
    if (with) add({*with, *without, /*alone=*/false});
  }
  return pairs;
}

// Whether a run without one setting, that fails with another fingerprint, shows that the rest alone
// is not a combination. It does where it is the rest alone (all other switches off), or is not
// masked.
bool refutes_rest(SearchState& state, const Assignment& without, const SettingSet& rest) {
  return state.constraints.plainest(rest, state.off) == without ||
         !is_masked_from_outside(state, without, rest);
}

// The pair of runs that shows the setting to be necessary, if any; best one where the failure is
// gone altogether.
std::optional<PairRuns> find_necessity(SearchState& state, std::size_t number, Setting setting,
                                       std::vector<PairRuns> candidates) {
  const std::size_t fingerprint = state.known[number].fingerprint;
  const SettingSet rest = without_switch(state.known[number].settings, setting.which);
  // Runs made for other reasons may show it where the candidates do not.
  for (const LedgerEntry& entry : state.ledger.entries()) {
    const Assignment& without = entry.assignment;
    if (without[setting.which] == setting.value || !contains(without, rest)) continue;
    if (entry.counts.resolved() == 0 || entry.counts.failures_with(fingerprint) > 0) continue;
    const Assignment with = with_settings(without, std::span(&setting, 1));
    if (state.constraints.violated_by(with)) {
      candidates.push_back({state.known[number].witness, without, /*alone=*/false});
    } else {
      candidates.push_back({with, without, /*alone=*/true});
    }
  }
  std::optional<PairRuns> shown;
  for (const PairRuns& pair : candidates) {
    const Presence without = state.presence(pair.without, fingerprint);
    if (without != Presence::kGone && without != Presence::kMasked) continue;
    if (without == Presence::kMasked && (shown || !refutes_rest(state, pair.without, rest)))
      continue;
    if (state.presence(pair.with, fingerprint) == Presence::kFails) {
      shown = pair;
    } else if (!shown) {
      shown = PairRuns{state.known[number].witness, pair.without, /*alone=*/false};
      continue;
    }
    if (without == Presence::kGone) break;
  }
  return shown;
}

}  // namespace

bool show_necessity(SearchState& state, std::size_t number, Refinement refinement) {
  const SettingSet settings = state.known[number].settings;
  const std::size_t fingerprint = state.known[number].fingerprint;
  std::vector<std::vector<PairRuns>> pairs;
  std::vector<Assignment> first_choices;
  for (const Setting& setting : settings) {
    pairs.push_back(candidate_pairs(state, number, setting));
    if (pairs.back().empty()) continue;
    first_choices.push_back(pairs.back().front().with);
    first_choices.push_back(pairs.back().front().without);
  }
  state.run_missing(first_choices);
  std::vector<Necessity> necessity;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::optional<PairRuns> shown =
        find_necessity(state, number, settings[i], std::move(pairs[i]));
    if (shown) {
      necessity.push_back({settings[i], state.observe(shown->with, fingerprint),
                           state.observe(shown->without, fingerprint), shown->alone});
    } else if (refinement == Refinement::kAllowed && !state.known[number].stuck) {
      const std::size_t version = state.version;
      refine(state, number, without_switch(settings, settings[i].which));
      if (state.version != version) return false;
    }
  }
  Known& known = state.known[number];
  known.necessary = necessity.size() == settings.size();
  known.necessity = std::move(necessity);
  return true;
}

}  // namespace culprit
