// Which t-way value combinations the search looked at; reads the ledger, runs nothing.
#pragma once

#include "isolate/search_state.hpp"

namespace culprit {

// One strength. O(runs * C(switches, strength) + tuples).
StrengthCoverage measure_coverage(const SearchState& state, int strength);

}  // namespace culprit
