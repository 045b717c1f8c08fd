// See trial_ledger.hpp.
#include "isolate/trial_ledger.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace culprit {

std::size_t RunCounts::failures_with(std::size_t fingerprint) const {
  for (const auto& [number, count] : failures) {
    if (number == fingerprint) return count;
  }
  return 0;
}

std::size_t TrialLedger::entry_of(const Assignment& assignment) {
  const auto [place, is_new] = numbers_.try_emplace(assignment, entries_.size());
  if (is_new) entries_.push_back({assignment, {}, false});
  return place->second;
}

void TrialLedger::record(const Assignment& assignment, const Trial& trial) {
  RunCounts& counts = entries_[entry_of(assignment)].counts;
  ++counts.runs;
  ++num_trials_;
  if (trial.status == Trial::Status::kPass) {
    ++counts.passes;
  } else if (trial.status == Trial::Status::kUnresolved) {
    ++counts.unresolved;
  } else {
    const auto known = std::find(fingerprints_.begin(), fingerprints_.end(), trial.fingerprint);
    const auto number = static_cast<std::size_t>(known - fingerprints_.begin());
    if (known == fingerprints_.end()) fingerprints_.push_back(trial.fingerprint);
    for (auto& [fingerprint, count] : counts.failures) {
      if (fingerprint == number) {
        ++count;
        return;
      }
    }
    counts.failures.emplace_back(number, 1);
  }
}

void TrialLedger::run(std::span<const Assignment> assignments) {
  const std::size_t allowed = std::min(assignments.size(), max_trials_ - num_trials_);
  if (allowed > 0) {
    const std::vector<Trial> trials = evaluate_(assignments.first(allowed));
    if (trials.size() > allowed) {
      throw UsageError("the evaluator returned " + std::to_string(trials.size()) +
                       " results for a batch of " + std::to_string(allowed));
    }
    for (std::size_t i = 0; i < trials.size(); ++i) record(assignments[i], trials[i]);
    if (trials.size() < allowed) throw Stopped{Stop::kEvaluator};
  }
  if (allowed < assignments.size()) throw Stopped{Stop::kBudget};
}

}  // namespace culprit
