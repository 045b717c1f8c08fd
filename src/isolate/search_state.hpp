// What the stages of a search share: the ledger, the combinations known so far, and the one place
// that decides from the runs of an assignment whether a failure is there.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isolate/nogoods.hpp"
#include "isolate/search.hpp"
#include "isolate/trial_ledger.hpp"

namespace culprit {

// Whether an assignment fails with one fingerprint.
enum class Presence {
  kFails,
  kGone,        // not seen in as many runs as the sequential test wants
  kMasked,      // only failures with other fingerprints were seen
  kUnresolved,  // no run could be judged
};

enum class Refinement {
  kNone,     // keep combinations as they are, only gather the evidence
  kAllowed,  // grow or shrink them where runs contradict them
};

// A combination under construction: fails in its witness, may still grow or shrink.
struct Known {
  SettingSet settings;
  std::size_t fingerprint = 0;
  Assignment witness;  // contains the settings and fails
  std::vector<Necessity> necessity;
  bool necessary = false;    // the certificate has a Necessity for each setting
  bool supported = false;    // support gathered up to the strength
  bool built_flaky = false;  // whether its runs were repeated as those of a flaky failure
  FailureRate fresh_rate;    // of a fixed number of runs made for nothing else
  bool stuck = false;        // refining came back to an earlier form; reported as not proven
};

class SearchState {
 public:
  SearchState(const Space& searched, const SearchOptions& chosen, const Evaluate& evaluate)
      : space(searched),
        options(chosen),
        off(off_assignment(searched)),
        constraints(searched),
        ledger(evaluate, chosen.max_trials),
        random(chosen.seed) {}

  // Runs the assignment as often as the decision needs.
  Presence presence(const Assignment& assignment, std::size_t fingerprint);
  // Runs those of the list that have no run yet, in batches; only to have them in parallel.
  void run_missing(std::span<const Assignment> assignments);
  // Runs the assignment until `count` of its runs could be judged, or retries are used up.
  void run_until_resolved(const Assignment& assignment, std::size_t count);

  // Whether the fingerprint came and went on one assignment.
  bool is_flaky(std::size_t fingerprint) const { return flaky_.count(fingerprint) != 0; }
  // Runs a minimal or contradicting assignment `count` times; where it comes to several things, all
  // the fingerprints it shows are flaky. Elsewhere several fingerprints may only mean that one
  // which comes and goes masks a steady one.
  void look_again(const Assignment& assignment, std::size_t count);
  // Passing runs are repeated from now on.
  bool repeats_passes() const { return options.flaky || !flaky_.empty(); }
  // Passes after which a covering row counts as passed.
  std::size_t passes_wanted() const;

  // Whether a known combination accounts for the assignment's failure with the fingerprint.
  bool is_explained(const Assignment& assignment, std::size_t fingerprint) const;
  // The same, or the failure was given up as unreproduced: nothing more is to be done about it.
  bool is_settled(const Assignment& assignment, std::size_t fingerprint) const {
    return is_explained(assignment, fingerprint) ||
           unreproduced.count({assignment, fingerprint}) != 0;
  }
  // Whether all failures seen of the assignment are settled.
  bool all_settled(const Assignment& assignment);
  // Runs a covering row until it counts as passed, fails, or can't be judged.
  void settle_row(const Assignment& assignment);
  // Whether the assignment contains a known combination other than known[except].
  bool contains_other(const Assignment& assignment, std::size_t except) const;
  // Drops a known combination that contains another one of the same fingerprint.
  void drop_supersets();

  // Drops known combinations without a failing run of their own: each of these contains another one
  // of the same fingerprint. Returns how many.
  std::size_t drop_redundant();

  Observation observe(const Assignment& assignment, std::size_t fingerprint);

  const Space& space;
  const SearchOptions& options;
  const Assignment off;
  const Nogoods constraints;
  TrialLedger ledger;
  Random random;
  std::vector<Known> known;
  std::set<std::pair<Assignment, std::size_t>> unreproduced;
  // Counts a form that some combination takes. False when it was taken too often: the runs
  // contradict each other, and going on would not end.
  bool try_form(const SettingSet& settings, std::size_t fingerprint);

  std::size_t version = 0;  // rises with every change of a known combination's settings

 private:
  void run_batched(const std::vector<Assignment>& assignments);
  void note_flakiness(const Assignment& assignment);

  std::set<std::size_t> flaky_;
  std::map<std::pair<SettingSet, std::size_t>, int> forms_;
};

}  // namespace culprit
