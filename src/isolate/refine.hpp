// Steps that the two sides of a certificate (support.cpp, necessity.cpp) share: which runs speak
// against a combination, and what becomes of one that is spoken against.
#pragma once

#include <cstddef>

#include "isolate/search_state.hpp"

namespace culprit {

// Takes a new form of the combination, or is stuck when it had that form too often.
void refine(SearchState& state, std::size_t number, SettingSet settings);

// Adds what known[number] lacks, given a run that contains it and does not fail by it: the
// isolating difference between that run and the witness. Removes it when its failure turns out to
// come and go; its failing run then has no explanation any more and is reduced again, with repeats.
void extend(SearchState& state, std::size_t number, const Assignment& refuting);

// The constraints and the known combinations that runs for known[number] avoid: all others, except
// those that it contains.
Nogoods nogoods_around(const SearchState& state, std::size_t number);

// Whether every failure seen of the assignment comes from a known combination that reaches outside
// the settings (or does not come back): that one masks, and the run says nothing about the
// settings. What fails by a part of the settings shows that they do not decide.
bool is_masked_from_outside(SearchState& state, const Assignment& assignment,
                            const SettingSet& settings);

// Uniform over each switch's values; constraints are not looked at.
Assignment random_assignment(SearchState& state);

}  // namespace culprit
