// See certificate.hpp.
#include "isolate/certificate.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "isolate/covering_array.hpp"
#include "isolate/minimise.hpp"

namespace culprit {
namespace {

constexpr int kRandomContexts = 2;

Assignment random_assignment(SearchState& state) {
  Assignment assignment;
  for (const Switch& one : state.space.switches) {
    assignment.push_back(static_cast<std::uint16_t>(state.random.below(one.values.size())));
  }
  return assignment;
}

// Takes a new form of the combination; one that it had before means refining goes in circles.
void refine(SearchState& state, std::size_t number, SettingSet settings) {
  Known& known = state.known[number];
  if (settings.empty() || !known.history.insert(settings).second) {
    known.stuck = true;
    return;
  }
  known.settings = std::move(settings);
  known.necessary = false;
  known.supported = false;
  known.necessity.clear();
  ++state.version;
  state.drop_supersets();
}

void forget(SearchState& state, std::size_t number) {
  state.known.erase(state.known.begin() + static_cast<std::ptrdiff_t>(number));
  ++state.version;
}

// `passing` contains the combination and passes.
void extend(SearchState& state, std::size_t number, const Assignment& passing) {
  const std::size_t fingerprint = state.known[number].fingerprint;
  const Assignment witness = state.known[number].witness;
  if (!state.is_flaky(fingerprint)) {
    // A contradiction is as likely a failure that comes and goes as a missing setting: look twice.
    state.run_until_resolved(passing, 2);
    state.run_until_resolved(witness, state.options.confirm_repeats + 1);
    if (state.is_flaky(fingerprint)) {
      forget(state, number);  // built on runs that meant less than it seemed; its failing run is found again
      return;
    }
  }
  const std::optional<SettingSet> missing =
      isolate_difference(state, passing, witness, fingerprint, number);
  if (!missing) {
    forget(state, number);
  } else if (missing->empty()) {
    state.known[number].stuck = true;
  } else {
    refine(state, number, united(state.known[number].settings, *missing));
  }
}

// Known combinations that support runs avoid: all others, except those that this one contains.
Nogoods support_nogoods(const SearchState& state, std::size_t number) {
  Nogoods nogoods = state.constraints;
  for (std::size_t i = 0; i < state.known.size(); ++i) {
    if (i != number && !is_subset(state.known[i].settings, state.known[number].settings)) {
      nogoods.add(state.known[i].settings);
    }
  }
  return nogoods;
}

// A run with setting.value and one with `other`, equal in all other switches, both valid and free of the
// listed combinations. The switches' constraints are rewritten for both values at once.
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
      if (avoid_other_fingerprints || state.known[i].fingerprint == state.known[number].fingerprint) {
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
    const auto with = support_nogoods(state, number).complete(known.settings, *without);
    if (with) add({*with, *without, /*alone=*/false});
  }
  return pairs;
}

}  // namespace

std::vector<Observation> list_support(SearchState& state, const Known& known, std::size_t limit) {
  const auto number = static_cast<std::size_t>(&known - state.known.data());
  std::vector<Assignment> found;
  for (const LedgerEntry& entry : state.ledger.entries()) {
    if (!contains(entry.assignment, known.settings)) continue;
    if (entry.counts.failures_with(known.fingerprint) == 0) continue;
    if (state.contains_other(entry.assignment, number)) continue;
    found.push_back(entry.assignment);
  }
  // Farthest-first, so that few runs show much of the variety.
  std::vector<Observation> support;
  std::vector<std::size_t> distance(found.size(), known.witness.size() + 1);
  while (support.size() < std::min(limit, found.size())) {
    const auto next = static_cast<std::size_t>(
        std::max_element(distance.begin(), distance.end()) - distance.begin());
    support.push_back(state.observe(found[next], known.fingerprint));
    for (std::size_t i = 0; i < found.size(); ++i) {
      distance[i] = std::min(distance[i], differences(found[next], found[i]).size());
    }
  }
  return support;
}

bool gather_support(SearchState& state, std::size_t number, Refinement refinement) {
  const Known known = state.known[number];  // a copy: running can add to known[]
  const std::size_t num_others = state.space.switches.size() - known.settings.size();
  const std::size_t version = state.version;
  const bool can_refine = refinement == Refinement::kAllowed && !known.stuck;
  if (num_others == 0) {
    state.known[number].supported = true;
    return true;
  }
  const int wanted = state.options.strength - static_cast<int>(known.settings.size());
  const int strength = std::clamp(wanted, 1, static_cast<int>(num_others));
  CoveringArray rows(state.space, strength, support_nogoods(state, number), known.settings);
  const Nogoods avoided = support_nogoods(state, number);
  // Fails by a combination that is part of this one: then this one does not decide, as if it passed.
  const auto masked_from_within = [&](const Assignment& assignment, Presence presence) {
    return presence == Presence::kMasked && !avoided.violated_by(assignment) &&
           state.all_settled(assignment) && state.contains_other(assignment, number);
  };
  std::size_t num_support = 0;
  // What has been run already, by its number as running may add entries.
  for (std::size_t i = 0; i < state.ledger.entries().size(); ++i) {
    const Assignment assignment = state.ledger.entry(i).assignment;
    const RunCounts& counts = state.ledger.entry(i).counts;
    if (counts.resolved() == 0 || !contains(assignment, known.settings)) continue;
    if (avoided.violated_by(assignment) && counts.failures_with(known.fingerprint) == 0) continue;
    const Presence presence = state.presence(assignment, known.fingerprint);
    if (presence == Presence::kFails) {
      rows.cover(assignment);
      num_support += avoided.violated_by(assignment) ? 0 : 1;
    } else if ((presence == Presence::kGone || masked_from_within(assignment, presence)) &&
               can_refine) {
      extend(state, number, assignment);
      return false;
    }
  }
  bool complete = true;
  int extra_tries = 0;
  for (;;) {
    std::vector<Assignment> batch;
    std::optional<Assignment> next;
    while (batch.size() < std::max<std::size_t>(state.options.batch_size, 1)) {
      next = rows.next_row(state.random);
      if (!next && num_support + batch.size() < state.options.min_support && extra_tries < 16) {
        ++extra_tries;
        next = avoided.complete(known.settings, random_assignment(state));
        if (next && (state.ledger.counts_of(*next).runs > 0 ||
                     std::find(batch.begin(), batch.end(), *next) != batch.end())) {
          continue;
        }
      }
      if (!next) break;
      rows.cover(*next);  // also when it can't be judged: then the certificate is not complete
      batch.push_back(std::move(*next));
    }
    if (batch.empty()) break;
    state.run_missing(batch);
    for (const Assignment& row : batch) {
      const Presence presence = state.presence(row, known.fingerprint);
      switch (presence) {
        case Presence::kFails:
          ++num_support;
          break;
        case Presence::kGone:
        case Presence::kMasked:
          complete = false;
          if (!state.all_settled(row)) return false;
          if (can_refine && (presence == Presence::kGone || masked_from_within(row, presence))) {
            extend(state, number, row);
            return false;
          }
          break;
        case Presence::kUnresolved:
          complete = false;
          break;
      }
    }
  }
  state.known[number].supported = complete;
  return state.version == version;
}

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
    std::optional<PairRuns> shown;
    bool still_fails = pairs[i].empty();  // no run without it exists: the rest implies it
    bool shown_by_pass = false;
    for (const PairRuns& pair : pairs[i]) {
      const Presence without = state.presence(pair.without, fingerprint);
      still_fails = still_fails || without == Presence::kFails;
      if (without != Presence::kGone && without != Presence::kMasked) continue;
      if (without == Presence::kMasked && shown) continue;
      if (state.presence(pair.with, fingerprint) != Presence::kFails) continue;
      shown = pair;
      shown_by_pass = without == Presence::kGone;
      if (shown_by_pass) break;
    }
    if (shown) {
      necessity.push_back({settings[i], state.observe(shown->with, fingerprint),
                           state.observe(shown->without, fingerprint), shown->alone});
    } else if (still_fails && refinement == Refinement::kAllowed && !state.known[number].stuck) {
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
