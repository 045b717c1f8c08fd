// Exact answer from a full table: every valid assignment and what it came to.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "isolate/settings.hpp"

namespace culprit {

// All assignments that the constraints allow, in lexicographic order, or nullopt when there are
// more than `limit` or the table of their partial assignments would be too large (about four
// million).
std::optional<std::vector<Assignment>> enumerate_valid(const Space& space, std::size_t limit);

struct TableRow {
  Assignment assignment;
  std::optional<std::size_t> fingerprint;  // nullopt: passes
};

struct ExactCombination {
  SettingSet settings;
  std::size_t fingerprint = 0;
  auto operator<=>(const ExactCombination&) const = default;
};

// All minimal failing combinations, sorted. A set S of settings is one for fingerprint f when
//   1. every row that contains S fails;
//   2. the row that contains S with the fewest other switches on fails with f;
//   3. each row that contains S and fails with another fingerprint g contains a minimal failing
//      combination of g that is not part of S (that one masks f there);
//   4. S is part of a minimal set whose rows all fail with f;
// and no proper subset of S is one for f. Without masking, 2 to 4 say that every row that contains
// S fails with f. Rows that could not be judged are left out of the table and decide nothing. Time
// and memory: product of (values + 1) over the switches, times fingerprints.
std::vector<ExactCombination> minimal_combinations(const Space& space,
                                                   const std::vector<TableRow>& rows);

}  // namespace culprit
