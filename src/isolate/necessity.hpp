// The certificate's second side: with one setting changed the failure is gone (1-minimality).
#pragma once

#include <cstddef>

#include "isolate/search_state.hpp"

namespace culprit {

// Finds for each setting of known[number] a run without it in which the failure is gone. Where no
// run shows that and refinement is allowed, the setting is dropped: it was needed only to get
// around other combinations. Returns false when known[] changed.
bool show_necessity(SearchState& state, std::size_t number, Refinement refinement);

}  // namespace culprit
