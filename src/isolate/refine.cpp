// See refine.hpp.
#include "isolate/refine.hpp"

#include <algorithm>
#include <utility>

#include "isolate/minimise.hpp"

namespace culprit {
namespace {

void forget(SearchState& state, std::size_t number) {
  state.known.erase(state.known.begin() + static_cast<std::ptrdiff_t>(number));
  ++state.version;
}

}  // namespace

void refine(SearchState& state, std::size_t number, SettingSet settings) {
  Known& known = state.known[number];
  if (settings.empty() || !state.try_form(settings, known.fingerprint)) {
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

void extend(SearchState& state, std::size_t number, const Assignment& refuting) {
  const std::size_t fingerprint = state.known[number].fingerprint;
  const Assignment witness = state.known[number].witness;
  if (!state.is_flaky(fingerprint)) {
    // A contradiction is as likely a failure that comes and goes as a missing setting: look twice.
    const std::size_t count = state.options.confirm_repeats + 1;
    const bool passes = state.ledger.counts_of(refuting).passes > 0;
    state.look_again(refuting, passes ? 2 : count);
    state.look_again(witness, count);
    if (state.is_flaky(fingerprint)) {
      forget(
          state,
          number);  // built on runs that meant less than it seemed; its failing run is found again
      return;
    }
  }
  const std::optional<SettingSet> missing =
      isolate_difference(state, refuting, witness, fingerprint, number);
  if (!missing) {
    forget(state, number);
  } else if (missing->empty()) {
    state.known[number].stuck = true;
  } else {
    refine(state, number, united(state.known[number].settings, *missing));
  }
}

Nogoods nogoods_around(const SearchState& state, std::size_t number) {
  Nogoods nogoods = state.constraints;
  for (std::size_t i = 0; i < state.known.size(); ++i) {
    if (i != number && !is_subset(state.known[i].settings, state.known[number].settings)) {
      nogoods.add(state.known[i].settings);
    }
  }
  return nogoods;
}

bool is_masked_from_outside(SearchState& state, const Assignment& assignment,
                            const SettingSet& settings) {
  const RunCounts& counts = state.ledger.counts_of(assignment);
  return std::all_of(counts.failures.begin(), counts.failures.end(), [&](const auto& failure) {
    if (state.unreproduced.count({assignment, failure.first}) != 0) return true;
    return std::any_of(state.known.begin(), state.known.end(), [&](const Known& one) {
      return one.fingerprint == failure.first && contains(assignment, one.settings) &&
             !is_subset(one.settings, settings);
    });
  });
}

Assignment random_assignment(SearchState& state) {
  Assignment assignment;
  for (const Switch& one : state.space.switches) {
    assignment.push_back(static_cast<std::uint16_t>(state.random.below(one.values.size())));
  }
  return assignment;
}

}  // namespace culprit
