// Brute force for the tests: full tables and the definition of a minimal failing combination,
// written down literally with bit sets over the rows. Shares no code with
// src/isolate/exhaustive.cpp.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "isolate/exhaustive.hpp"
#include "isolate/planted.hpp"

namespace culprit::brute {

// Rows of the valid assignments, the one with the fewest switches on first (then lexicographic).
struct Table {
  std::vector<TableRow> rows;
  std::vector<std::string> fingerprints;
};

// Lexicographic, by counting through all assignments.
std::vector<Assignment> valid_assignments(const Space& space);
Table full_table(const Space& space, const std::vector<planted::Bug>& bugs);

// Adds excluding constraints of two or three settings that leave the all-off assignment valid.
void add_constraints(Random& random, Space& space, std::size_t count);

// 0 to max_bugs bugs of 1 to max_size settings, none of which the all-off assignment contains; two
// of three have a fingerprint of their own, the others share one.
std::vector<planted::Bug> random_bugs(Random& random, const Space& space, std::size_t max_bugs,
                                      std::size_t max_size = 4);

// Minimal sets that some row contains and all rows that do fail with the fingerprint.
std::set<SettingSet> prime_implicants(const Space& space, const Table& table,
                                      std::size_t fingerprint);

// Checks a claimed list of all minimal combinations against the four conditions of exhaustive.hpp:
// each one fulfils them and no proper part of it does, and each set that does has one of the list
// in it. Returns the first violation in words, or nothing.
std::string definition_violations(const Space& space, const Table& table,
                                  const std::vector<ExactCombination>& claimed);

}  // namespace culprit::brute
