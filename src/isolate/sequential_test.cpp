// See sequential_test.hpp.
#include "isolate/sequential_test.hpp"

#include <cmath>
#include <string>

#include "base/error.hpp"

namespace culprit {
namespace {

void check_floor(double floor) {
  if (!(floor > 0.0 && floor < 1.0)) {
    throw UsageError("failure rate floor " + std::to_string(floor) +
                     ", expected above 0 and below 1");
  }
}

// P(X >= k) for X ~ Binomial(n, rate), summed in logarithms.
double upper_tail(std::size_t k, std::size_t n, double rate) {
  if (k == 0) return 1.0;
  if (rate <= 0.0) return 0.0;
  if (rate >= 1.0) return 1.0;
  const auto total = static_cast<double>(n);
  double sum = 0.0;
  for (std::size_t i = k; i <= n; ++i) {
    const auto hits = static_cast<double>(i);
    const double log_ways =
        std::lgamma(total + 1.0) - std::lgamma(hits + 1.0) - std::lgamma(total - hits + 1.0);
    sum += std::exp(log_ways + hits * std::log(rate) + (total - hits) * std::log1p(-rate));
  }
  return sum;
}

// The rate at which upper_tail(k, n, rate) reaches the probability; the tail grows with the rate.
double rate_for_tail(std::size_t k, std::size_t n, double probability) {
  double low = 0.0;
  double high = 1.0;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (upper_tail(k, n, middle) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

RateDecision decide_rate(std::size_t num_failures, std::size_t num_runs, double floor) {
  check_floor(floor);
  const double keep = floor;
  const double gone = floor / 10.0;
  const double bound = std::log((1.0 - kDecisionError) / kDecisionError);
  const double per_pass = std::log((1.0 - keep) / (1.0 - gone));
  const double per_failure = std::log(keep / gone);
  const auto failures = static_cast<double>(num_failures);
  const auto runs = static_cast<double>(num_runs);
  const double evidence = failures * per_failure + (runs - failures) * per_pass;
  if (evidence >= bound) return RateDecision::kKeeps;
  if (evidence <= -bound) return RateDecision::kGone;
  if (runs >= 4.0 * std::ceil(-bound / per_pass)) {
    return failures / runs >= std::sqrt(keep * gone) ? RateDecision::kKeeps : RateDecision::kGone;
  }
  return RateDecision::kUndecided;
}

std::size_t repeats_to_trust_absence(double floor) {
  check_floor(floor);
  return static_cast<std::size_t>(std::ceil(std::log(kMissError) / std::log1p(-floor)));
}

Interval clopper_pearson(std::size_t num_failures, std::size_t num_runs) {
  if (num_failures > num_runs) throw UsageError("more failures than runs");
  constexpr double kTail = 0.025;
  Interval interval;
  if (num_failures > 0) interval.low = rate_for_tail(num_failures, num_runs, kTail);
  if (num_failures < num_runs)
    interval.high = rate_for_tail(num_failures + 1, num_runs, 1.0 - kTail);
  return interval;
}

}  // namespace culprit
