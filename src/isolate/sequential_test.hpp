// Statistics of failures that come and go: how long to repeat a run, and what may be said
// afterwards.
//
// Is the failure still there? Wald's sequential probability ratio test (Wald 1945) of
//   H_keep: the run fails with the fingerprint at a rate >= floor
//   H_gone: it does so at a rate <= floor / 10
// with an error of at most kDecisionError on either side (Wald's bounds; slightly less, as the sums
// overshoot). Between the two rates either answer is acceptable. A run that never fails is given up
// after ln(error) / ln((1 - floor) / (1 - floor / 10)) repeats (23 at floor 0.2). The test is cut
// off at four times that; then the observed rate decides against the geometric mean of the two
// rates.
//
// Did a run that showed nothing pass? That is never certain. It is repeated until a failure with a
// rate of `floor` would have stayed unseen with a probability of at most kMissError (14 at floor
// 0.2), and is then called "not seen in n runs".
#pragma once

#include <cstddef>

namespace culprit {

inline constexpr double kDecisionError = 0.01;
inline constexpr double kMissError = 0.05;

enum class RateDecision { kKeeps, kGone, kUndecided };

// The state of Wald's test after `num_failures` of `num_runs`; a pure function of the two counts.
// UsageError unless 0 < floor < 1.
RateDecision decide_rate(std::size_t num_failures, std::size_t num_runs, double floor);

// Repeats without a failure after which a rate of `floor` is missed with at most kMissError.
std::size_t repeats_to_trust_absence(double floor);

struct Interval {
  double low = 0.0;
  double high = 1.0;
};

// Clopper-Pearson 95 % interval for a rate. Chosen over Wilson's because its coverage is at least
// 95 % for every n and rate, also at 0 of n and n of n with the small n of a search, where Wilson's
// can be lower; the price is a wider interval.
Interval clopper_pearson(std::size_t num_failures, std::size_t num_runs);

}  // namespace culprit
