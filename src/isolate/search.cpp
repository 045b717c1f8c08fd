// See search.hpp.
#include "isolate/search.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "isolate/covering_array.hpp"
#include "isolate/exhaustive.hpp"
#include "isolate/findings.hpp"
#include "isolate/minimise.hpp"
#include "isolate/necessity.hpp"
#include "isolate/search_state.hpp"
#include "isolate/support.hpp"

namespace culprit {
namespace {

void check(const SearchOptions& options) {
  if (options.strength < 1 || options.strength > kMaxStrength) {
    throw UsageError("strength " + std::to_string(options.strength) + ", expected 1 to " +
                     std::to_string(kMaxStrength));
  }
  if (options.max_trials == 0) throw UsageError("max_trials is 0, expected at least 1");
  if (options.batch_size == 0) throw UsageError("batch_size is 0, expected at least 1");
  if (options.confirm_repeats == 0) throw UsageError("confirm_repeats is 0, expected at least 1");
  repeats_to_trust_absence(options.failure_rate_floor);  // throws for a floor out of range
}

class Search {
 public:
  Search(const Space& space, const SearchOptions& options, const Evaluate& evaluate)
      : state_(space, options, evaluate) {}

  SearchResult run() {
    SearchResult result;
    try {
      check_reference();
      check_first(result);
      const std::optional<std::vector<Assignment>> valid =
          enumerate_valid(state_.space, state_.options.exhaustive_limit);
      if (valid) {
        run_exhaustive(*valid);
        result.exhaustive = true;
      } else {
        run_sampling();
      }
      measure_rates();
    } catch (const TrialLedger::Stopped& stopped) {
      result.exhaustive = false;
      result.stopped =
          stopped.why == TrialLedger::Stop::kBudget ? SearchStop::kBudget : SearchStop::kEvaluator;
    }
    describe_findings(state_, result);
    return result;
  }

 private:
  // The reference has to pass; everything else is judged against it.
  void check_reference() {
    state_.run_until_resolved(state_.off, 1);
    if (state_.options.flaky) state_.settle_row(state_.off);
    const RunCounts& counts = state_.ledger.counts_of(state_.off);
    if (!counts.failures.empty()) {
      throw UsageError("the all-off run fails (" +
                       state_.ledger.fingerprint(counts.failures.front().first) +
                       "), expected it to pass: it is the reference");
    }
    if (counts.passes == 0)
      throw UsageError("the all-off run can't be judged, expected it to pass");
  }

  void check_first(SearchResult& result) {
    const Assignment first = first_assignment(state_.space);
    if (state_.constraints.violated_by(first)) {
      result.notices.push_back("the constraints forbid the all-first run");
      return;
    }
    state_.run_until_resolved(first, 1);
    state_.settle_row(first);
    const RunCounts& counts = state_.ledger.counts_of(first);
    if (!counts.failures.empty()) return;
    if (counts.passes == 0) {
      result.notices.push_back("the all-first run can't be judged");
    } else if (counts.runs > 1) {
      result.notices.push_back("no failure seen in " + std::to_string(counts.runs) +
                               " all-first runs");
    } else {
      result.notices.push_back("the all-first run passes");
    }
  }

  void run_exhaustive(const std::vector<Assignment>& valid) {
    for (bool settled = false; !settled;) {
      state_.run_missing(valid);
      std::vector<TableRow> table;
      for (const Assignment& assignment : valid) {
        state_.run_until_resolved(assignment, 1);
        state_.settle_row(assignment);
        const RunCounts& counts = state_.ledger.counts_of(assignment);
        const auto most = std::max_element(
            counts.failures.begin(), counts.failures.end(),
            [](const auto& left, const auto& right) { return left.second < right.second; });
        if (most != counts.failures.end()) {
          table.push_back({assignment, most->first});
        } else if (counts.passes > 0) {
          table.push_back({assignment, std::nullopt});
        }
      }
      const std::size_t wanted = state_.passes_wanted();
      state_.known.clear();
      for (const ExactCombination& exact : minimal_combinations(state_.space, table)) {
        Known known;
        known.settings = exact.settings;
        known.fingerprint = exact.fingerprint;
        known.witness = plainest(table, exact);
        state_.known.push_back(std::move(known));
      }
      for (std::size_t i = 0; i < state_.known.size(); ++i) {
        state_.run_until_resolved(state_.known[i].witness, state_.options.confirm_repeats);
      }
      // The first failure that comes and goes makes the passes worth less: repeat them, start over.
      settled = state_.passes_wanted() == wanted;
    }
    for (std::size_t i = 0; i < state_.known.size(); ++i) {
      state_.known[i].built_flaky = state_.is_flaky(state_.known[i].fingerprint);
      gather_support(state_, i, Refinement::kNone);
      show_necessity(state_, i, Refinement::kNone);
    }
  }

  Assignment plainest(const std::vector<TableRow>& table, const ExactCombination& exact) const {
    const Assignment* best = nullptr;
    std::size_t best_distance = 0;
    for (const TableRow& row : table) {
      if (row.fingerprint != exact.fingerprint || !contains(row.assignment, exact.settings))
        continue;
      const std::size_t distance = differences(state_.off, row.assignment).size();
      if (best == nullptr || distance < best_distance) {
        best = &row.assignment;
        best_distance = distance;
      }
    }
    return *best;
  }

  void run_sampling() {
    const int strongest =
        std::min(state_.options.strength, static_cast<int>(state_.space.switches.size()));
    for (int strength = 1; strength <= strongest; ++strength) {
      for (;;) {
        const std::size_t version = state_.version;
        const std::size_t wanted = state_.passes_wanted();
        cover(strength);
        settle();
        if (state_.version == version && state_.passes_wanted() == wanted) break;
      }
    }
  }

  // Handles every failure that nothing known explains, the plainest first.
  void explain_failures() {
    for (;;) {
      std::optional<std::pair<Assignment, std::size_t>> plainest;
      std::size_t least = 0;
      for (const LedgerEntry& entry : state_.ledger.entries()) {
        for (const auto& [fingerprint, count] : entry.counts.failures) {
          if (state_.is_settled(entry.assignment, fingerprint)) continue;
          const std::size_t distance = differences(state_.off, entry.assignment).size();
          if (plainest && distance >= least) continue;
          plainest = {entry.assignment, fingerprint};
          least = distance;
        }
      }
      if (!plainest) return;
      add_combination(state_, plainest->first, plainest->second);
      state_.drop_supersets();
    }
  }

  Nogoods clean_nogoods() const {
    Nogoods nogoods = state_.constraints;
    for (const Known& known : state_.known) nogoods.add(known.settings);
    return nogoods;
  }

  // Runs rows until every tuple that can occur without a known combination was in a run that
  // passed.
  void cover(int strength) {
    std::optional<CoveringArray> rows;
    std::vector<bool> counted;
    std::size_t wanted = 0;
    std::size_t version = 0;
    for (;;) {
      explain_failures();
      if (!rows || wanted != state_.passes_wanted()) {
        rows.emplace(state_.space, strength, clean_nogoods());
        counted.clear();
        wanted = state_.passes_wanted();
        version = state_.version;
      } else if (version != state_.version) {
        rows->set_nogoods(clean_nogoods());
        version = state_.version;
      }
      counted.resize(state_.ledger.entries().size(), false);
      for (std::size_t i = 0; i < counted.size(); ++i) {
        if (counted[i] || !counts_as_covered(i)) continue;
        rows->cover(state_.ledger.entries()[i].assignment);
        counted[i] = true;
      }
      std::vector<Assignment> batch = rows_to_repeat(*rows);
      if (batch.empty()) batch = new_rows(*rows);
      if (batch.empty()) return;
      state_.run_missing(batch);
      for (const Assignment& row : batch) {
        state_.ledger.entry(state_.ledger.entry_of(row)).is_covering_row = true;
        state_.settle_row(row);
      }
    }
  }

  bool counts_as_covered(std::size_t number) {
    const LedgerEntry& entry = state_.ledger.entries()[number];
    if (entry.counts.failures.empty()) {
      if (entry.counts.passes >= state_.passes_wanted()) return true;
      // A row that can't be judged is not asked for again; measure_coverage reports it as left out.
      return entry.is_covering_row && entry.counts.unresolved > state_.options.unresolved_retries;
    }
    return std::any_of(entry.counts.failures.begin(), entry.counts.failures.end(),
                       [&](const auto& failure) {
                         return state_.unreproduced.count({entry.assignment, failure.first}) != 0;
                       });
  }

  // Rows that passed before passes had to be repeated, the most useful one.
  std::vector<Assignment> rows_to_repeat(const CoveringArray& rows) const {
    std::vector<Assignment> best;
    std::size_t most = 0;
    for (const LedgerEntry& entry : state_.ledger.entries()) {
      const RunCounts& counts = entry.counts;
      if (!entry.is_covering_row || !counts.failures.empty()) continue;
      if (counts.passes >= state_.passes_wanted() ||
          counts.unresolved > state_.options.unresolved_retries) {
        continue;
      }
      const std::size_t gain = rows.num_open_in(entry.assignment);
      if (gain <= most) continue;
      most = gain;
      best = {entry.assignment};
    }
    return best;
  }

  std::vector<Assignment> new_rows(CoveringArray& rows) {
    std::vector<Assignment> batch;
    if (state_.options.batch_size == 1) {
      if (std::optional<Assignment> row = rows.next_row(state_.random)) batch.push_back(*row);
      return batch;
    }
    CoveringArray ahead = rows;  // later rows of a batch complement the earlier ones
    while (batch.size() < state_.options.batch_size) {
      std::optional<Assignment> row = ahead.next_row(state_.random);
      if (!row) break;
      ahead.cover(*row);
      batch.push_back(std::move(*row));
    }
    return batch;
  }

  // Refines and certifies the known combinations until no run contradicts them.
  void settle() {
    for (;;) {
      explain_failures();
      const std::size_t version = state_.version;
      bool quiet = drop_outdated() == 0;
      for (std::size_t i = 0; quiet && i < state_.known.size(); ++i) {
        quiet = gather_support(state_, i, Refinement::kAllowed);
      }
      for (std::size_t i = 0; quiet && i < state_.known.size(); ++i) {
        quiet = show_necessity(state_, i, Refinement::kAllowed);
      }
      explain_failures();
      if (quiet && state_.version == version && drop_outdated() + state_.drop_redundant() == 0)
        return;
    }
  }

  // A combination found before its failure was known to come and go rests on single runs: find it
  // again.
  std::size_t drop_outdated() {
    const std::size_t dropped = std::erase_if(state_.known, [&](const Known& known) {
      return known.built_flaky != state_.is_flaky(known.fingerprint);
    });
    if (dropped > 0) ++state_.version;
    return dropped;
  }

  // A fixed number of fresh runs: counts of a sequential test, or of runs chosen because they
  // failed, would bias the rate.
  void measure_rates() {
    for (Known& known : state_.known) {
      if (!state_.is_flaky(known.fingerprint)) continue;
      const RunCounts before = state_.ledger.counts_of(known.witness);
      state_.run_until_resolved(known.witness, before.resolved() + state_.options.rate_runs);
      const RunCounts& after = state_.ledger.counts_of(known.witness);
      known.fresh_rate.failures =
          after.failures_with(known.fingerprint) - before.failures_with(known.fingerprint);
      known.fresh_rate.runs = after.resolved() - before.resolved();
    }
  }

  SearchState state_;
};

}  // namespace

SearchResult search(const Space& space, const SearchOptions& options, const Evaluate& evaluate) {
  check(options);
  validate(space);
  return Search(space, options, evaluate).run();
}

}  // namespace culprit
