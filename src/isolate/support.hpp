// The certificate's first side: the combination fails whatever the other switches are
// (sufficiency).
#pragma once

#include <cstddef>
#include <vector>

#include "isolate/search_state.hpp"

namespace culprit {

// Gathers failing runs that contain known[number] until every choice of strength + 1 - size other
// settings (at least one) occurs in one of them, without other known combinations where that is
// possible. One more than the search's strength, as few runs then refute combinations that are only
// sufficient while several other switches stay as they are. Choices that occur only together with
// other known combinations are run too: two combinations that are both too general would hide the
// run that refutes them. A run that contains the combination and passes shows that a setting is
// missing, and it is added when refinement is allowed. Returns false when known[] changed or an
// unexplained failure came up: ask again after it.
bool gather_support(SearchState& state, std::size_t number, Refinement refinement);

// The failing runs that contain the combination and no other known one (should every one contain
// another, all of them), each as different as possible from those before it, at most `limit`. Reads
// the ledger.
std::vector<Observation> list_support(SearchState& state, const Known& known, std::size_t limit);

}  // namespace culprit
