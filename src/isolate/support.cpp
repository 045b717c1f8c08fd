// See support.hpp.
#include "isolate/support.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "isolate/covering_array.hpp"
#include "isolate/refine.hpp"

namespace culprit {
namespace {

constexpr int kExtraTries = 16;

class Gathering {
 public:
  Gathering(SearchState& state, std::size_t number, Refinement refinement)
      : state_(state),
        number_(number),
        settings_(state.known[number].settings),
        fingerprint_(state.known[number].fingerprint),
        can_refine_(refinement == Refinement::kAllowed && !state.known[number].stuck),
        clean_(nogoods_around(state, number)),
        rows_(state.space, strength(), clean_, settings_) {}

  // False: something else comes first.
  bool run() {
    if (can_refine_ && !run_alone()) return false;
    if (!count_past_runs() || !run_rows(/*clean=*/true)) return false;
    if (can_refine_) {
      rows_.set_nogoods(state_.constraints);
      if (!run_rows(/*clean=*/false)) return false;
    }
    state_.known[number_].supported = complete_;
    return true;
  }

 private:
  int strength() const {
    const int wanted = state_.options.strength + 1 - static_cast<int>(settings_.size());
    const int num_others = static_cast<int>(state_.space.switches.size() - settings_.size());
    return std::clamp(wanted, 1, std::min(num_others, kMaxStrength));
  }

  // Looks at a run that contains the combination; false when it changes something.
  bool judge(const Assignment& assignment, Presence presence) {
    if (!state_.all_settled(assignment)) return false;
    const bool is_refuting =
        presence == Presence::kGone ||
        (presence == Presence::kMasked && !is_masked_from_outside(state_, assignment, settings_));
    if (!is_refuting || !can_refine_) return true;
    extend(state_, number_, assignment);
    return state_.known.size() > number_ && state_.known[number_].stuck;
  }

  // Whether another combination of the same fingerprint may be what fails.
  bool fails_by_another(const Assignment& assignment) const {
    for (std::size_t i = 0; i < state_.known.size(); ++i) {
      const Known& other = state_.known[i];
      if (i != number_ && other.fingerprint == fingerprint_ &&
          contains(assignment, other.settings)) {
        return true;
      }
    }
    return false;
  }

  // The combination alone, all other switches off, decides between fingerprints.
  bool run_alone() {
    const std::optional<Assignment> alone = state_.constraints.plainest(settings_, state_.off);
    if (!alone) return true;
    const Presence presence = state_.presence(*alone, fingerprint_);
    if (presence != Presence::kMasked) return judge(*alone, presence);
    if (!state_.all_settled(*alone)) return false;
    extend(state_, number_, *alone);
    return false;
  }

  bool count_past_runs() {
    for (std::size_t i = 0; i < state_.ledger.entries().size(); ++i) {  // grows while being read
      const Assignment assignment = state_.ledger.entry(i).assignment;
      const RunCounts& counts = state_.ledger.entry(i).counts;
      if (counts.resolved() == 0 || !contains(assignment, settings_)) continue;
      const bool is_clean = !clean_.violated_by(assignment);
      // Repeats would tell little about a failure that others mask.
      if (!is_clean && counts.failures_with(fingerprint_) == 0 && counts.passes == 0) continue;
      const Presence presence = state_.presence(assignment, fingerprint_);
      if (presence == Presence::kFails) {
        if (!fails_by_another(assignment)) rows_.cover(assignment);
        num_support_ += is_clean ? 1 : 0;
      } else if (can_refine_ && !judge(assignment, presence)) {
        return false;
      }
    }
    return true;
  }

  std::optional<Assignment> next_row(bool clean, const std::vector<Assignment>& batch) {
    if (auto row = rows_.next_row(state_.random)) return row;
    while (clean && num_support_ + batch.size() < state_.options.min_support &&
           extra_tries_ < kExtraTries) {
      ++extra_tries_;
      const auto row = clean_.complete(settings_, random_assignment(state_));
      if (!row) return std::nullopt;
      const bool in_batch = std::find(batch.begin(), batch.end(), *row) != batch.end();
      if (!in_batch && state_.ledger.counts_of(*row).runs == 0) return row;
    }
    return std::nullopt;
  }

  bool run_rows(bool clean) {
    for (;;) {
      std::vector<Assignment> batch;
      while (batch.size() < state_.options.batch_size) {
        std::optional<Assignment> row = next_row(clean, batch);
        if (!row) break;
        rows_.cover(*row);  // also when it can't be judged: then the certificate is not complete
        batch.push_back(std::move(*row));
      }
      if (batch.empty()) return true;
      state_.run_missing(batch);
      for (const Assignment& row : batch) {
        const Presence presence = state_.presence(row, fingerprint_);
        if (presence == Presence::kFails) {
          num_support_ += clean ? 1 : 0;
          continue;
        }
        // Where others can't be avoided, that they mask is expected.
        if (clean || presence != Presence::kMasked) complete_ = false;
        if (!judge(row, presence)) return false;
      }
    }
  }

  SearchState& state_;
  std::size_t number_;
  SettingSet settings_;
  std::size_t fingerprint_;
  bool can_refine_;
  Nogoods clean_;
  CoveringArray rows_;
  std::size_t num_support_ = 0;
  bool complete_ = true;
  int extra_tries_ = 0;
};

}  // namespace

std::vector<Observation> list_support(SearchState& state, const Known& known, std::size_t limit) {
  const auto number = static_cast<std::size_t>(&known - state.known.data());
  std::vector<Assignment> clean;
  std::vector<Assignment> all;
  for (const LedgerEntry& entry : state.ledger.entries()) {
    if (!contains(entry.assignment, known.settings)) continue;
    if (entry.counts.failures_with(known.fingerprint) == 0) continue;
    all.push_back(entry.assignment);
    if (!state.contains_other(entry.assignment, number)) clean.push_back(entry.assignment);
  }
  const std::vector<Assignment>& found = clean.empty() ? all : clean;
  // Farthest-first, so that few runs show much of the variety.
  std::vector<Observation> support;
  std::vector<std::size_t> distance(found.size(), known.witness.size() + 1);
  while (support.size() < std::min(limit, found.size())) {
    const auto next = static_cast<std::size_t>(std::max_element(distance.begin(), distance.end()) -
                                               distance.begin());
    support.push_back(state.observe(found[next], known.fingerprint));
    for (std::size_t i = 0; i < found.size(); ++i) {
      distance[i] = std::min(distance[i], differences(found[next], found[i]).size());
    }
  }
  return support;
}

bool gather_support(SearchState& state, std::size_t number, Refinement refinement) {
  if (state.known[number].settings.size() == state.space.switches.size()) {
    state.known[number].supported = true;
    return true;
  }
  const std::size_t version = state.version;
  return Gathering(state, number, refinement).run() && state.version == version;
}

}  // namespace culprit
