// From the state of a search, finished or stopped, to its result; runs nothing.
#pragma once

#include "isolate/search.hpp"
#include "isolate/search_state.hpp"

namespace culprit {

// Fills in combinations, failures that were not reduced, coverage and counts.
void describe_findings(SearchState& state, SearchResult& result);

}  // namespace culprit
