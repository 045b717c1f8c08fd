// Stage isolate: a space of switches + an evaluator of trials -> every minimal failing combination,
// each with a certificate that a reader can check, and an honest account of what was not looked at.
// docs/isolation.md explains definitions, algorithm, guarantees and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "isolate/sequential_test.hpp"
#include "isolate/settings.hpp"
#include "isolate/space.hpp"

namespace culprit {

struct SearchOptions {
  std::uint64_t seed = 1;
  // Interactions of up to this many switches are looked for, 1 to kMaxStrength.
  int strength = 3;
  // A space with at most this many valid assignments is run completely.
  std::size_t exhaustive_limit = 256;
  std::size_t max_trials = 10'000;
  // Most assignments asked for in one call of the evaluator; more run in parallel, and some are
  // wasted.
  std::size_t batch_size = 1;
  // Repeat runs that pass from the start, not only once a failure came and went.
  bool flaky = false;
  // Failures rarer than this count as gone: a reduction that lowers the rate below it is refused.
  double failure_rate_floor = 0.2;
  // Runs of a failing assignment before anything is concluded from it (llvm-reduce's sanity check).
  std::size_t confirm_repeats = 3;
  // Fresh runs from which the rate of a flaky failure is estimated.
  std::size_t rate_runs = 20;
  // Extra attempts for a run that could not be judged.
  std::size_t unresolved_retries = 2;
  // Distinct failing runs that a certificate has to show, where the space has as many.
  std::size_t min_support = 3;
};

// What the runs of one assignment came to, as seen from one fingerprint.
struct Observation {
  Assignment assignment;
  std::size_t runs = 0;
  std::size_t failures = 0;   // with the combination's fingerprint
  std::size_t passes = 0;     // 0 failures of n runs means "not seen in n runs", no more
  std::size_t different = 0;  // failures with another fingerprint
  std::size_t unresolved = 0;
  std::string other_fingerprint;  // the most frequent one of `different`
};

// Shows that one setting of a combination is needed: the failure is there with it and gone without.
struct Necessity {
  Setting setting;
  Observation with;
  Observation without;
  // The two runs differ in this switch alone. False only where constraints couple it with others.
  bool alone = true;
};

struct FailureRate {
  std::size_t failures = 0;
  std::size_t runs = 0;
  Interval interval;  // Clopper-Pearson, 95 %
};

// A minimal failing combination: settings that together fail, whatever the other switches are.
struct Combination {
  SettingSet settings;
  std::string fingerprint;
  std::vector<Necessity> necessity;  // one for each setting
  std::vector<Observation>
      support;  // contain all settings under different other switches, and fail
  FailureRate rate;
  bool flaky = false;
  // Certificate complete: each setting necessary, support gathered up to the strength. When false,
  // `incomplete` says what is missing.
  bool proven = false;
  std::string incomplete;
};

// A failure that was seen, as seen in the run with the fewest switches on.
struct SeenFailure {
  std::string fingerprint;
  Observation seen;
};

// All value combinations of `strength` switches; total = run + invalid + masked + left_out.
struct StrengthCoverage {
  int strength = 0;
  std::uint64_t total = 0;
  std::uint64_t run = 0;  // in a run that passed, or it contains a reported combination and was run
  std::uint64_t invalid = 0;  // the constraints allow no run with it
  std::uint64_t masked =
      0;  // occurs only in runs that contain, and fail by, a reported combination
  std::uint64_t left_out = 0;  // budget, unresolved runs, or a strength above the searched one
};

enum class SearchStop { kComplete, kBudget, kEvaluator };

struct SearchResult {
  std::vector<Combination> combinations;  // by size, then settings
  std::vector<SeenFailure> unreproduced;  // did not come back at the floor's rate: not reduced
  std::vector<SeenFailure> unreduced;  // found too late: the search was stopped before reducing it
  std::vector<StrengthCoverage> coverage;  // strengths 1 to 3, as far as there are switches
  std::size_t trials = 0;
  std::size_t distinct_assignments = 0;
  bool exhaustive = false;  // every valid assignment was run: the combinations are exact
  bool flaky = false;       // some failure came and went, or options.flaky
  SearchStop stopped = SearchStop::kComplete;
  std::vector<std::string> notices;
};

// Finds all minimal failing combinations with up to options.strength switches (and larger ones by
// chance; all of them when exhaustive). Deterministic: equal space, options and answers give equal
// requests in equal order. The search's own work is well below 1 ms a trial at 40 switches.
// Throws UsageError, before any other trial, for an invalid space or option and when the all-off
// run fails, can't be judged, or (with options.flaky) fails in one of its repeats. Exceptions of
// the evaluator pass through. When the budget ends or the evaluator returns fewer results than
// asked, the result holds what was found so far; only combinations with a complete certificate are
// `proven`.
SearchResult search(const Space& space, const SearchOptions& options, const Evaluate& evaluate);

}  // namespace culprit
