// Delta debugging's ddmin (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input,
// 2002) over indices 0..count-1, with three-valued outcomes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace culprit {

enum class SubsetOutcome { kFails, kPasses, kUnresolved };

// Sorted indices -> outcome of the run that has exactly those.
using SubsetTest = std::function<SubsetOutcome(const std::vector<std::size_t>&)>;

// A 1-minimal failing subset of 0..count-1: it fails, and no subset with one index less does. The
// whole set is taken to fail and is not tested. One index set is tested once. O(count^2) tests in
// the worst case, O(log count) where one index suffices. UsageError never; exceptions of the test
// pass through.
std::vector<std::size_t> ddmin(std::size_t count, const SubsetTest& test);

}  // namespace culprit
