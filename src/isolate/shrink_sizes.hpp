// After the switches, the sizes: lowers tp, pp, micro-batches, blocks, ... while the failure stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isolate/space.hpp"

namespace culprit {

// One size. Values below `current` that may be tried: `candidates` when given (those outside
// [minimum, current) are ignored), else every integer from minimum.
struct SizeAxis {
  std::string name;
  std::int64_t current = 1;
  std::int64_t minimum = 1;
  std::vector<std::int64_t> candidates;
};

// One value an axis, in the order of the axes.
using Sizes = std::vector<std::int64_t>;

// As Evaluate: results in the batch's order, fewer than asked to stop. A size that can't be run (tp
// does not divide the features) is kUnresolved and is passed over.
using EvaluateSizes = std::function<std::vector<Trial>(std::span<const Sizes>)>;

struct ShrinkOptions {
  std::size_t max_trials = 200;
  // Runs that may be needed to see the failure once; 1 unless it is flaky.
  std::size_t repeats = 1;
};

struct SizeTrial {
  Sizes sizes;
  std::size_t runs = 0;
  Trial last;  // the failure looked for, when one of the runs showed it
};

struct ShrinkResult {
  Sizes sizes;  // fail with the fingerprint
  // For each axis: its next lower value was run with all other sizes as found, and the failure was
  // not seen, or there is no lower value. All true: 1-minimal.
  std::vector<bool> is_smallest;
  std::vector<SizeTrial> trials;  // distinct sizes, in order
  std::size_t num_trials = 0;
  bool complete = false;  // false: stopped by max_trials or by the evaluator
};

// Smallest sizes reached: all at their minimum first, then each axis in the order given (its
// minimum, then bisection between failing and not failing), repeated until no axis moves; at last
// each axis' next lower value is checked. O(rounds * axes * log(values)) trials. Bisection assumes
// that a failure at one size stays at the larger ones; where that is wrong the result still fails
// and is still 1-minimal, but an even smaller size may exist. Deterministic. Throws UsageError for
// no axes, a minimum above the current size, or zero trials or repeats.
ShrinkResult shrink_sizes(const std::vector<SizeAxis>& axes, const std::string& fingerprint,
                          const ShrinkOptions& options, const EvaluateSizes& evaluate);

}  // namespace culprit
