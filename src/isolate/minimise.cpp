// See minimise.hpp.
#include "isolate/minimise.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "isolate/ddmin.hpp"

namespace culprit {
namespace {

constexpr int kPathOrders = 24;

Nogoods path_nogoods(const SearchState& state, std::size_t fingerprint,
                     std::optional<std::size_t> extending) {
  Nogoods nogoods = state.constraints;
  for (std::size_t i = 0; i < state.known.size(); ++i) {
    if (state.known[i].fingerprint == fingerprint && i != extending) {
      nogoods.add(state.known[i].settings);
    }
  }
  return nogoods;
}

// A path from passing to failing that flips one switch a step.
struct Path {
  SettingSet steps;            // in the order of the path
  std::size_t num_barred = 0;  // inner points that may not be run
};

Path choose_path(SearchState& state, const Assignment& passing, const Assignment& failing,
                 const Nogoods& nogoods) {
  Path best;
  best.num_barred = std::numeric_limits<std::size_t>::max();
  SettingSet steps = differences(passing, failing);
  for (int order = 0; order < kPathOrders && best.num_barred > 0; ++order) {
    state.random.shuffle(steps);
    Assignment point = passing;
    std::size_t num_barred = 0;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      point[steps[i].which] = steps[i].value;
      num_barred += nogoods.violated_by(point) ? 1 : 0;
    }
    if (num_barred < best.num_barred) best = {steps, num_barred};
  }
  return best;
}

class Bisection {
 public:
  Bisection(SearchState& state, const Assignment& passing, std::size_t fingerprint,
            const Nogoods& nogoods)
      : state_(state), passing_(passing), fingerprint_(fingerprint), nogoods_(nogoods) {}

  Presence test(std::span<const Setting> settings, std::span<const Setting> more = {}) {
    const Assignment candidate = with_settings(with_settings(passing_, settings), more);
    if (nogoods_.violated_by(candidate)) return Presence::kUnresolved;
    return state_.presence(candidate, fingerprint_);
  }

  // steps[0, found) over `kept` fails and steps[0, low) does not; low == found - 1 unless no point
  // between them can be judged.
  std::pair<std::size_t, std::size_t> boundary(const SettingSet& kept, const SettingSet& steps) {
    std::size_t low = 0;
    std::size_t high = steps.size();
    std::vector<bool> barred(steps.size() + 1, false);
    while (high - low > 1) {
      const std::optional<std::size_t> middle = nearest_open(barred, low, high);
      if (!middle) break;
      switch (test(kept, std::span(steps).first(*middle))) {
        case Presence::kFails:
          high = *middle;
          break;
        case Presence::kUnresolved:
          barred[*middle] = true;
          break;
        case Presence::kGone:
        case Presence::kMasked:
          low = *middle;
          break;
      }
    }
    return {low, high};
  }

 private:
  static std::optional<std::size_t> nearest_open(const std::vector<bool>& barred, std::size_t low,
                                                 std::size_t high) {
    const std::size_t middle = low + (high - low) / 2;
    for (std::size_t away = 0; away < high - low; ++away) {
      if (middle + away < high && !barred[middle + away]) return middle + away;
      if (middle > low + away && !barred[middle - away]) return middle - away;
    }
    return std::nullopt;
  }

  SearchState& state_;
  const Assignment& passing_;
  std::size_t fingerprint_;
  const Nogoods& nogoods_;
};

// The passing run to start from: all-off, unless no clean path leads from there to the failing run.
Assignment choose_passing(SearchState& state, const Assignment& failing, std::size_t fingerprint) {
  const Nogoods nogoods = path_nogoods(state, fingerprint, std::nullopt);
  const std::size_t barred_from_off = choose_path(state, state.off, failing, nogoods).num_barred;
  if (barred_from_off == 0) return state.off;
  std::optional<Assignment> nearest;
  std::size_t nearest_distance = differences(state.off, failing).size();
  for (const LedgerEntry& entry : state.ledger.entries()) {
    const RunCounts& counts = entry.counts;
    if (counts.passes < state.passes_wanted() || !counts.failures.empty()) continue;
    const std::size_t distance = differences(entry.assignment, failing).size();
    if (distance >= nearest_distance) continue;
    if (choose_path(state, entry.assignment, failing, nogoods).num_barred >= barred_from_off)
      continue;
    nearest = entry.assignment;
    nearest_distance = distance;
  }
  if (nearest && state.presence(*nearest, fingerprint) == Presence::kGone) return *nearest;
  return state.off;
}

}  // namespace

std::optional<SettingSet> isolate_difference(SearchState& state, const Assignment& passing,
                                             const Assignment& failing, std::size_t fingerprint,
                                             std::optional<std::size_t> extending) {
  const bool was_flaky = state.is_flaky(fingerprint);
  const Nogoods nogoods = path_nogoods(state, fingerprint, extending);
  SettingSet steps = choose_path(state, passing, failing, nogoods).steps;
  Bisection bisection(state, passing, fingerprint, nogoods);
  SettingSet kept;
  bool has_block = false;
  while (!steps.empty()) {
    if (!kept.empty() && bisection.test(kept) == Presence::kFails) break;
    const auto [low, high] = bisection.boundary(kept, steps);
    has_block = has_block || high - low > 1;
    kept.insert(kept.end(), steps.begin() + static_cast<std::ptrdiff_t>(low),
                steps.begin() + static_cast<std::ptrdiff_t>(high));
    steps.resize(low);
  }
  if (has_block) {
    const std::vector<std::size_t> needed =
        ddmin(kept.size(), [&](const std::vector<std::size_t>& subset) {
          SettingSet some;
          for (const std::size_t i : subset) some.push_back(kept[i]);
          switch (bisection.test(some)) {
            case Presence::kFails:
              return SubsetOutcome::kFails;
            case Presence::kUnresolved:
              return SubsetOutcome::kUnresolved;
            default:
              return SubsetOutcome::kPasses;
          }
        });
    SettingSet some;
    for (const std::size_t i : needed) some.push_back(kept[i]);
    kept = std::move(some);
  }
  if (state.is_flaky(fingerprint) != was_flaky) return std::nullopt;
  std::sort(kept.begin(), kept.end());
  return kept;
}

void add_combination(SearchState& state, const Assignment& failing, std::size_t fingerprint) {
  constexpr int kAttempts = 3;
  state.run_until_resolved(failing, state.options.confirm_repeats);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (state.presence(failing, fingerprint) != Presence::kFails) break;
    const bool is_flaky = state.is_flaky(fingerprint);
    // The start of the path has to be trusted as much as its other points.
    if (is_flaky && state.presence(state.off, fingerprint) == Presence::kFails) break;
    const Assignment passing = choose_passing(state, failing, fingerprint);
    const std::optional<SettingSet> kept =
        isolate_difference(state, passing, failing, fingerprint, std::nullopt);
    if (!kept || kept->empty()) continue;
    const Assignment witness = with_settings(passing, *kept);
    if (state.presence(witness, fingerprint) != Presence::kFails) continue;
    state.look_again(witness, state.options.confirm_repeats);
    if (state.is_flaky(fingerprint) != is_flaky) continue;
    if (!state.try_form(*kept, fingerprint)) break;
    Known known;
    known.settings = *kept;
    known.built_flaky = is_flaky;
    known.fingerprint = fingerprint;
    known.witness = witness;
    state.known.push_back(std::move(known));
    ++state.version;
    return;
  }
  state.unreproduced.emplace(failing, fingerprint);
}

}  // namespace culprit
