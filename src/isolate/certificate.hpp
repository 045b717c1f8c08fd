// The certificate of a combination, from two sides. Support: it fails under other values of the other
// switches (sufficient). Necessity: with one setting changed it no longer does (1-minimal). What runs
// contradict is corrected: the combination grows or shrinks.
#pragma once

#include <cstddef>

#include "isolate/search_state.hpp"

namespace culprit {

enum class Refinement {
  kNone,     // keep the combination as it is, only gather the evidence
  kAllowed,  // grow or shrink it where runs contradict it
};

// Gathers failing runs that contain known[number] until every choice of strength - size other settings
// (at least one) occurs in one of them, without other known combinations. A run that contains it and
// passes shows that a setting is missing: the isolating difference between that run and the witness is
// added. Returns false when known[] changed or an unexplained failure came up: ask again after it.
bool gather_support(SearchState& state, std::size_t number, Refinement refinement);

// Finds for each setting of known[number] a run without it in which the failure is gone. A setting
// without which it still fails is dropped. Returns false when known[] changed.
bool show_necessity(SearchState& state, std::size_t number, Refinement refinement);

// The failing runs that contain the combination and no other known one, most different first, at most
// `limit`; reads the ledger only.
std::vector<Observation> list_support(SearchState& state, const Known& known, std::size_t limit);

}  // namespace culprit
