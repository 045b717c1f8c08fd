// Numbers the t-way value combinations ("tuples") of a space: every choice of t switches, times
// every choice of values for them. Switch choices are ranked in colexicographic order
// (combinatorial number system), so an assignment's tuples are visited with a running rank and no
// lookups.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isolate/settings.hpp"

namespace culprit {

class TupleTable {
 public:
  // Strength 1 to kMaxStrength; a strength above the number of switches leaves an empty table.
  TupleTable(const Space& space, int strength);

  int strength() const { return strength_; }
  std::size_t size() const { return size_; }

  // The tuple of a number below size(). O(switches + log size).
  SettingSet tuple(std::size_t index) const;

  // Calls visit(index) for every tuple of a full assignment. O(C(switches, strength)).
  template <class Visit>
  void for_each(const Assignment& assignment, const Visit& visit) const {
    std::size_t rank = 0;
    visit_below(assignment, assignment.size(), strength_, /*code=*/0, rank, visit);
  }

  // How many tuples that consist of setting `added` and of settings of `chosen` (sorted by switch,
  // without that switch) satisfy count(index). O(C(chosen, strength - 1)).
  template <class Count>
  std::size_t count_with(const SettingSet& chosen, Setting added, const Count& count) const {
    if (chosen.size() + 1 < static_cast<std::size_t>(strength_)) return 0;
    std::array<Setting, kMaxStrength> picked{};
    return count_subsets(chosen, added, chosen.size(), strength_, /*added_used=*/false, picked,
                         count);
  }

  // Index of a sorted tuple of `strength` settings.
  std::size_t index(const Setting* sorted) const {
    std::size_t rank = 0;
    std::size_t code = 0;
    for (int i = strength_ - 1; i >= 0; --i) {
      rank += choose_[static_cast<std::size_t>(i) + 1][sorted[i].which];
      code = code * num_values_[sorted[i].which] + sorted[i].value;
    }
    return offsets_[rank] + code;
  }

 private:
  template <class Visit>
  void visit_below(const Assignment& assignment, std::size_t end, int left, std::size_t code,
                   std::size_t& rank, const Visit& visit) const {
    for (std::size_t i = static_cast<std::size_t>(left) - 1; i < end; ++i) {
      const std::size_t next = code * num_values_[i] + assignment[i];
      if (left == 1) {
        visit(offsets_[rank++] + next);
      } else {
        visit_below(assignment, i, left - 1, next, rank, visit);
      }
    }
  }

  // Picks from the highest switch down; `added` is taken where it falls in the order.
  template <class Count>
  std::size_t count_subsets(const SettingSet& chosen, Setting added, std::size_t end, int left,
                            bool added_used, std::array<Setting, kMaxStrength>& picked,
                            const Count& count) const {
    if (left == 0) return count(index(picked.data())) ? 1 : 0;
    std::size_t total = 0;
    if (!added_used && (end == 0 || chosen[end - 1].which < added.which)) {
      // Everything below comes after `added` in the order: it has to be taken now.
      picked[static_cast<std::size_t>(left) - 1] = added;
      return count_subsets(chosen, added, end, left - 1, /*added_used=*/true, picked, count);
    }
    for (std::size_t i = end; i > 0; --i) {
      if (!added_used && chosen[i - 1].which < added.which) {
        picked[static_cast<std::size_t>(left) - 1] = added;
        return total +
               count_subsets(chosen, added, i, left - 1, /*added_used=*/true, picked, count);
      }
      if (left == 1 && !added_used) continue;  // the last place belongs to `added`
      picked[static_cast<std::size_t>(left) - 1] = chosen[i - 1];
      total += count_subsets(chosen, added, i - 1, left - 1, added_used, picked, count);
    }
    if (!added_used) {
      picked[static_cast<std::size_t>(left) - 1] = added;
      total += count_subsets(chosen, added, 0, left - 1, /*added_used=*/true, picked, count);
    }
    return total;
  }

  int strength_;
  std::size_t size_ = 0;
  std::vector<std::size_t> num_values_;
  std::array<std::vector<std::size_t>, kMaxStrength + 1> choose_;  // [k][n] = C(n, k)
  std::vector<std::size_t> offsets_;                               // [rank of a switch choice]
};

}  // namespace culprit
