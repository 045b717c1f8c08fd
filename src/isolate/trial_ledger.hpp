// Every run the search has asked for and what came of it, with the budget. One entry a distinct
// assignment, in order of the first request.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isolate/space.hpp"

namespace culprit {

// What the runs of one assignment came to.
struct RunCounts {
  std::size_t runs = 0;
  std::size_t passes = 0;
  std::size_t unresolved = 0;
  std::vector<std::pair<std::size_t, std::size_t>> failures;  // (fingerprint number, count)

  std::size_t failures_with(std::size_t fingerprint) const;
  std::size_t resolved() const { return runs - unresolved; }
};

struct LedgerEntry {
  Assignment assignment;
  RunCounts counts;
  bool is_covering_row = false;
};

class TrialLedger {
 public:
  enum class Stop { kBudget, kEvaluator };
  // Thrown by run() when no more trials can be had; what was run before it is recorded. Internal to
  // the search, which turns it into SearchResult::stopped.
  struct Stopped {
    Stop why;
  };

  TrialLedger(const Evaluate& evaluate, std::size_t max_trials)
      : evaluate_(evaluate), max_trials_(max_trials) {}

  // Runs each assignment once, in one batch. Throws Stopped.
  void run(std::span<const Assignment> assignments);

  // The assignment's entry, made empty when it has none. References stay valid until the next new
  // entry.
  std::size_t entry_of(const Assignment& assignment);
  LedgerEntry& entry(std::size_t number) { return entries_[number]; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  const RunCounts& counts_of(const Assignment& assignment) {
    return entries_[entry_of(assignment)].counts;
  }

  const std::string& fingerprint(std::size_t number) const { return fingerprints_[number]; }
  std::size_t num_trials() const { return num_trials_; }

 private:
  void record(const Assignment& assignment, const Trial& trial);

  const Evaluate& evaluate_;
  std::size_t max_trials_;
  std::size_t num_trials_ = 0;
  std::vector<LedgerEntry> entries_;
  std::map<Assignment, std::size_t> numbers_;
  std::vector<std::string> fingerprints_;
};

}  // namespace culprit
