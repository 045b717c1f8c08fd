// From one failing run to the settings that make it fail, by delta debugging towards a passing run.
#pragma once

#include <cstddef>
#include <optional>

#include "isolate/search_state.hpp"

namespace culprit {

// The isolating difference: a 1-minimal set of settings of `failing` that, written over `passing`,
// fails with the fingerprint. Settings that both runs share are not in it. Each setting is found by
// bisecting a path from passing to failing (two neighbours on it of which one fails and one does
// not, as in Zeller's dd), so k settings of n cost about k * (log2(n) + 1) runs; ddmin is used
// where runs on the path can't be judged. Runs that contain a known combination of the same
// fingerprint, other than known[extending], are avoided: the reduction would slide to that one.
// nullopt when the fingerprint turned out to be flaky on the way: repeat, the ledger knows now.
std::optional<SettingSet> isolate_difference(SearchState& state, const Assignment& passing,
                                             const Assignment& failing, std::size_t fingerprint,
                                             std::optional<std::size_t> extending);

// Adds a Known for an assignment seen failing with a fingerprint that nothing known explains, or
// notes it as unreproduced when the failure does not keep coming back.
void add_combination(SearchState& state, const Assignment& failing, std::size_t fingerprint);

}  // namespace culprit
