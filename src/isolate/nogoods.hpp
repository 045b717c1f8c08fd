// Sets of settings that must not occur together (user constraints, known failing combinations), and
// an exact solver that completes a partial assignment without any of them. Constraint propagation
// plus backtracking over the switches that occur in a nogood; the others are free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isolate/settings.hpp"

namespace culprit {

// The values still possible for each switch, one bit a value.
using Domains = std::vector<std::uint64_t>;

class Nogoods {
 public:
  // The space's constraints. Switches may have at most 64 values (checked by validate(Space)).
  explicit Nogoods(const Space& space);
  // The same switches without any constraint.
  static Nogoods unconstrained(const Space& space);

  // Adds one set. An empty set makes everything infeasible.
  void add(SettingSet settings);

  bool violated_by(const Assignment& assignment) const;
  bool mentions(std::uint16_t which) const { return mentioned_[which] != 0; }

  // All values of all switches.
  Domains full_domains() const;
  // Fixes the settings and removes values that can't be part of a solution as far as propagation
  // sees; false when a contradiction shows. Does not prove that a solution exists (solvable()
  // does).
  bool assign(Domains& domains, std::span<const Setting> settings) const;
  // Whether the domains still hold an assignment without nogoods. Exact; exponential in the number
  // of mentioned switches in the worst case, a few microseconds for the sets of a search.
  bool solvable(const Domains& domains) const;

  // A full assignment that has the fixed settings and violates nothing, or nullopt when there is
  // none. Free switches take the value of `prefer` where that is possible.
  std::optional<Assignment> complete(std::span<const Setting> fixed,
                                     const Assignment& prefer) const;

  // The assignment with the fixed settings that violates nothing and has the fewest other switches
  // on; the lexicographically first of several. nullopt when there is none. Exponential only in the
  // number of switches that nogoods force on.
  std::optional<Assignment> plainest(std::span<const Setting> fixed, const Assignment& off) const;

 private:
  Nogoods() = default;
  bool search_plainest(const Domains& domains, const Assignment& off, std::size_t which,
                       std::size_t num_on_left, Assignment& found) const;
  bool propagate(Domains& domains) const;
  bool solve(Domains& domains, const Assignment* prefer) const;

  std::vector<std::uint16_t> num_values_;
  std::vector<SettingSet> sets_;
  std::vector<std::uint8_t> mentioned_;
};

// Throws UsageError for a space that can't be searched: no switches, a switch with less than two or
// more than 64 values or with equal values, equal names, a constraint that is empty or names a
// setting that does not exist, an all-off assignment that the constraints forbid.
void validate(const Space& space);

}  // namespace culprit
