// See search_state.hpp.
#include "isolate/search_state.hpp"

#include <algorithm>

namespace culprit {
namespace {

// A run that failed this often with other, steady fingerprints masks the one asked for.
constexpr std::size_t kMaskedRuns = 3;

// Coming back to a form is fine a few times, as the runs made meanwhile are new evidence.
constexpr int kMaxReturns = 6;

}  // namespace

bool SearchState::try_form(const SettingSet& settings, std::size_t fingerprint) {
  return ++forms_[{settings, fingerprint}] <= kMaxReturns;
}

void SearchState::note_flakiness(const Assignment& assignment) {
  const RunCounts& counts = ledger.counts_of(assignment);
  if (counts.passes == 0) return;
  for (const auto& [fingerprint, count] : counts.failures) flaky_.insert(fingerprint);
}

void SearchState::look_again(const Assignment& assignment, std::size_t count) {
  run_until_resolved(assignment, count);
  const RunCounts& counts = ledger.counts_of(assignment);
  if (counts.failures.size() + (counts.passes > 0 ? 1 : 0) < 2) return;
  for (const auto& [fingerprint, times] : counts.failures) flaky_.insert(fingerprint);
}

void SearchState::run_batched(const std::vector<Assignment>& assignments) {
  const std::size_t batch = std::max<std::size_t>(options.batch_size, 1);
  for (std::size_t start = 0; start < assignments.size(); start += batch) {
    const std::size_t count = std::min(batch, assignments.size() - start);
    ledger.run(std::span(assignments).subspan(start, count));
  }
  for (const Assignment& assignment : assignments) note_flakiness(assignment);
}

void SearchState::run_missing(std::span<const Assignment> assignments) {
  std::vector<Assignment> missing;
  for (const Assignment& assignment : assignments) {
    const bool asked = std::find(missing.begin(), missing.end(), assignment) != missing.end();
    if (!asked && ledger.counts_of(assignment).runs == 0) missing.push_back(assignment);
  }
  run_batched(missing);
}

void SearchState::run_until_resolved(const Assignment& assignment, std::size_t count) {
  for (;;) {
    const RunCounts& counts = ledger.counts_of(assignment);
    const std::size_t resolved = counts.resolved();
    if (resolved >= count || counts.unresolved > options.unresolved_retries) return;
    run_batched(std::vector<Assignment>(count - resolved, assignment));
  }
}

std::size_t SearchState::passes_wanted() const {
  return repeats_passes() ? repeats_to_trust_absence(options.failure_rate_floor) : 1;
}

Presence SearchState::presence(const Assignment& assignment, std::size_t fingerprint) {
  for (;;) {
    const RunCounts& counts = ledger.counts_of(assignment);
    const std::size_t failures = counts.failures_with(fingerprint);
    const std::size_t resolved = counts.resolved();
    if (resolved > 0 && !is_flaky(fingerprint)) {
      if (failures > 0) return Presence::kFails;
      return counts.passes > 0 ? Presence::kGone : Presence::kMasked;
    }
    if (resolved > 0) {
      const bool is_masked_steadily =
          failures == 0 && counts.passes == 0 && resolved >= kMaskedRuns &&
          std::none_of(counts.failures.begin(), counts.failures.end(),
                       [&](const auto& failure) { return is_flaky(failure.first); });
      if (is_masked_steadily) return Presence::kMasked;
      switch (decide_rate(failures, resolved, options.failure_rate_floor)) {
        case RateDecision::kKeeps:
          return Presence::kFails;
        case RateDecision::kGone:
          return counts.passes > 0 ? Presence::kGone : Presence::kMasked;
        case RateDecision::kUndecided:
          break;
      }
    }
    if (counts.unresolved > options.unresolved_retries + resolved) return Presence::kUnresolved;
    // More than one copy only where the test needs many runs anyway.
    const std::size_t copies =
        is_flaky(fingerprint) ? std::max<std::size_t>(options.batch_size, 1) : 1;
    run_batched(std::vector<Assignment>(copies, assignment));
  }
}

bool SearchState::is_explained(const Assignment& assignment, std::size_t fingerprint) const {
  return std::any_of(known.begin(), known.end(), [&](const Known& one) {
    return one.fingerprint == fingerprint && contains(assignment, one.settings);
  });
}

bool SearchState::all_settled(const Assignment& assignment) {
  const RunCounts& counts = ledger.counts_of(assignment);
  return std::all_of(counts.failures.begin(), counts.failures.end(),
                     [&](const auto& failure) { return is_settled(assignment, failure.first); });
}

void SearchState::settle_row(const Assignment& assignment) {
  for (;;) {
    const RunCounts& counts = ledger.counts_of(assignment);
    const std::size_t wanted = passes_wanted();
    if (!counts.failures.empty() || counts.passes >= wanted) return;
    if (counts.unresolved > options.unresolved_retries + counts.passes) return;
    const std::size_t copies = std::min(options.batch_size, wanted - counts.passes);
    run_batched(std::vector<Assignment>(copies, assignment));
  }
}

bool SearchState::contains_other(const Assignment& assignment, std::size_t except) const {
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i != except && contains(assignment, known[i].settings)) return true;
  }
  return false;
}

void SearchState::drop_supersets() {
  for (std::size_t i = 0; i < known.size();) {
    bool redundant = false;
    for (std::size_t j = 0; j < known.size() && !redundant; ++j) {
      if (i == j || known[i].fingerprint != known[j].fingerprint) continue;
      const bool equal = known[i].settings == known[j].settings;
      redundant = equal ? j < i : is_subset(known[j].settings, known[i].settings);
    }
    if (redundant) {
      known.erase(known.begin() + static_cast<std::ptrdiff_t>(i));
      ++version;
    } else {
      ++i;
    }
  }
}

std::size_t SearchState::drop_redundant() {
  std::size_t dropped = 0;
  // The latest first: what it was found from may since be explained by a simpler one.
  for (std::size_t i = known.size(); i-- > 0;) {
    const Known& one = known[i];
    const bool has_own_run = std::any_of(
        ledger.entries().begin(), ledger.entries().end(), [&](const LedgerEntry& entry) {
          if (entry.counts.failures_with(one.fingerprint) == 0) return false;
          if (!contains(entry.assignment, one.settings)) return false;
          return std::none_of(known.begin(), known.end(), [&](const Known& other) {
            return &other != &one && other.fingerprint == one.fingerprint &&
                   contains(entry.assignment, other.settings);
          });
        });
    if (has_own_run) continue;
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(i));
    ++version;
    ++dropped;
  }
  return dropped;
}

Observation SearchState::observe(const Assignment& assignment, std::size_t fingerprint) {
  const RunCounts& counts = ledger.counts_of(assignment);
  Observation seen;
  seen.assignment = assignment;
  seen.runs = counts.runs;
  seen.failures = counts.failures_with(fingerprint);
  seen.passes = counts.passes;
  seen.unresolved = counts.unresolved;
  std::size_t most = 0;
  for (const auto& [other, count] : counts.failures) {
    if (other == fingerprint) continue;
    seen.different += count;
    if (count > most) {
      most = count;
      seen.other_fingerprint = ledger.fingerprint(other);
    }
  }
  return seen;
}

}  // namespace culprit
