// Covering arrays: few rows that together contain every feasible t-way value combination. Greedy,
// one row at a time (AETG: Cohen, Dalal, Fredman, Patton 1997), because the search must be able to
// change the nogoods between two rows; constraints are honoured by an exact solver, as IPOG-C does
// (Yu et al. 2013). Mixed numbers of values are fine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "isolate/nogoods.hpp"
#include "isolate/tuple_table.hpp"

namespace culprit {

class CoveringArray {
 public:
  // Rows contain `fixed`; only tuples compatible with it are asked for. Strength 1 to kMaxStrength
  // (UsageError otherwise); memory: one byte a tuple.
  CoveringArray(const Space& space, int strength, Nogoods nogoods, SettingSet fixed = {});

  // Exchanges the nogoods; what is covered stays covered.
  void set_nogoods(Nogoods nogoods);

  // Counts the assignment's tuples as covered.
  void cover(const Assignment& assignment);

  // A row without nogoods that covers at least one open tuple, or nullopt when every open tuple is
  // infeasible. Does not count it as covered: the caller does, once the row was run. Takes
  // O(values * C(switches, strength)) for each of a few candidates.
  std::optional<Assignment> next_row(Random& random);

  // How many tuples of the assignment are still open. O(C(switches, strength)).
  std::size_t num_open_in(const Assignment& assignment) const;

 private:
  bool feasible(const SettingSet& tuple);
  std::optional<SettingSet> open_tuple(Random& random);
  Assignment grow_row(const SettingSet& seed, Random& random) const;

  const Space& space_;
  TupleTable table_;
  Nogoods nogoods_;
  SettingSet fixed_;
  std::vector<std::uint8_t> covered_;
  std::vector<std::size_t> open_;              // may hold covered ones, dropped when met
  std::vector<std::size_t> infeasible_;        // under the present nogoods
  std::map<SettingSet, bool> feasible_cache_;  // key: the settings that nogoods mention
};

// A whole covering array of the space's valid assignments.
std::vector<Assignment> covering_array(const Space& space, int strength, std::uint64_t seed);

}  // namespace culprit
