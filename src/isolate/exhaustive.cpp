// See exhaustive.hpp.
#include "isolate/exhaustive.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "isolate/nogoods.hpp"

namespace culprit {
namespace {

constexpr std::size_t kMaxPartialAssignments = std::size_t{1} << 22;

bool enumerate(const Nogoods& nogoods, const Domains& domains, Assignment& prefix,
               std::size_t limit, std::vector<Assignment>& valid) {
  if (prefix.size() == domains.size()) {
    if (valid.size() == limit) return false;
    valid.push_back(prefix);
    return true;
  }
  const auto which = static_cast<std::uint16_t>(prefix.size());
  for (std::uint16_t value = 0; value < 64; ++value) {
    if ((domains[which] >> value & 1U) == 0) continue;
    Domains next = domains;
    const Setting setting{which, value};
    if (!nogoods.assign(next, std::span(&setting, 1)) || !nogoods.solvable(next)) continue;
    prefix.push_back(value);
    const bool fits = enumerate(nogoods, next, prefix, limit, valid);
    prefix.pop_back();
    if (!fits) return false;
  }
  return true;
}

// Aggregates over all partial assignments: digit value = that value, digit num_values = any value.
class PartialTable {
 public:
  PartialTable(const Space& space, const std::vector<TableRow>& rows) : rows_(rows) {
    for (const Switch& one : space.switches) {
      strides_.push_back(size_);
      bases_.push_back(one.values.size() + 1);
      size_ *= one.values.size() + 1;
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::size_t cell = 0;
      std::size_t num_on = 0;
      for (std::size_t i = 0; i < strides_.size(); ++i) {
        cell += rows[row].assignment[i] * strides_[i];
        num_on += rows[row].assignment[i] + std::size_t{2} == bases_[i] ? 0 : 1;
      }
      cells_.push_back(cell);
      rank_.push_back(num_on * rows.size() + row);
    }
    passes_ = sums([&](std::size_t row) { return rows[row].fingerprint ? 0 : 1; });
    totals_ = sums([](std::size_t) { return 1; });
    plainest_.assign(size_, std::numeric_limits<std::size_t>::max());
    for (std::size_t row = 0; row < rows.size(); ++row) plainest_[cells_[row]] = rank_[row];
    fold(plainest_, [](std::size_t left, std::size_t right) { return std::min(left, right); });
  }

  std::size_t size() const { return size_; }

  std::vector<std::uint32_t> failures_with(std::size_t fingerprint) const {
    return sums([&](std::size_t row) { return rows_[row].fingerprint == fingerprint ? 1 : 0; });
  }
  std::uint32_t total(std::size_t cell) const { return totals_[cell]; }
  bool always_fails(std::size_t cell) const { return totals_[cell] > 0 && passes_[cell] == 0; }
  std::size_t plainest_row(std::size_t cell) const { return plainest_[cell] % rows_.size(); }

  SettingSet settings(std::size_t cell) const {
    SettingSet set;
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      const std::size_t digit = cell / strides_[i] % bases_[i];
      if (digit + 1 < bases_[i]) {
        set.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(digit)});
      }
    }
    return set;
  }
  std::size_t cell(const SettingSet& set) const {
    std::size_t cell = size_ - 1;  // all digits "any"
    for (const Setting& one : set)
      cell -= (bases_[one.which] - 1 - one.value) * strides_[one.which];
    return cell;
  }
  // The cell with one fixed digit let go.
  std::size_t lifted(std::size_t cell, Setting setting) const {
    return cell + (bases_[setting.which] - 1 - setting.value) * strides_[setting.which];
  }

 private:
  template <class Value, class Join>
  void fold(std::vector<Value>& table, const Join& join) const {
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      for (std::size_t cell = 0; cell < size_; ++cell) {
        const std::size_t digit = cell / strides_[i] % bases_[i];
        if (digit + 1 == bases_[i]) continue;
        Value& any = table[cell + (bases_[i] - 1 - digit) * strides_[i]];
        any = join(any, table[cell]);
      }
    }
  }
  template <class Weight>
  std::vector<std::uint32_t> sums(const Weight& weight) const {
    std::vector<std::uint32_t> table(size_, 0);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      table[cells_[row]] += static_cast<std::uint32_t>(weight(row));
    }
    fold(table, [](std::uint32_t left, std::uint32_t right) { return left + right; });
    return table;
  }

  const std::vector<TableRow>& rows_;
  std::size_t size_ = 1;
  std::vector<std::size_t> strides_;
  std::vector<std::size_t> bases_;
  std::vector<std::size_t> cells_;  // of each row
  std::vector<std::size_t> rank_;   // fewest switches on first, then row order
  std::vector<std::uint32_t> passes_;
  std::vector<std::uint32_t> totals_;
  std::vector<std::size_t> plainest_;
};

// Sets whose rows all fail with the fingerprint, minimal among these.
std::vector<SettingSet> strict_sets(const PartialTable& table, std::size_t fingerprint) {
  const std::vector<std::uint32_t> failures = table.failures_with(fingerprint);
  const auto strict = [&](std::size_t cell) {
    return failures[cell] > 0 && failures[cell] == table.total(cell);
  };
  std::vector<SettingSet> minimal;
  for (std::size_t cell = 0; cell < table.size(); ++cell) {
    if (!strict(cell)) continue;
    SettingSet settings = table.settings(cell);
    const bool reducible = std::any_of(settings.begin(), settings.end(), [&](const Setting& one) {
      return strict(table.lifted(cell, one));
    });
    if (!reducible) minimal.push_back(std::move(settings));
  }
  return minimal;
}

using SetsOfFingerprint = std::map<std::size_t, std::vector<SettingSet>>;

bool has_subset(const std::vector<SettingSet>& sets, const SettingSet& outer) {
  return std::any_of(sets.begin(), sets.end(),
                     [&](const SettingSet& inner) { return is_subset(inner, outer); });
}

// Condition 3. Strict sets stand in for combinations not yet reached, which are larger.
bool others_are_masking(const std::vector<TableRow>& rows, const SettingSet& candidate,
                        std::size_t fingerprint, const SetsOfFingerprint& accepted,
                        const SetsOfFingerprint& strict) {
  for (const TableRow& row : rows) {
    if (row.fingerprint == fingerprint || !contains(row.assignment, candidate)) continue;
    const auto taken = accepted.find(*row.fingerprint);
    bool masked = false;
    if (taken != accepted.end()) {
      masked =
          std::any_of(taken->second.begin(), taken->second.end(), [&](const SettingSet& other) {
            return contains(row.assignment, other) && !is_subset(other, candidate);
          });
    }
    for (const SettingSet& other : strict.at(*row.fingerprint)) {
      if (masked) break;
      if (!contains(row.assignment, other) || is_subset(other, candidate)) continue;
      masked = taken == accepted.end() || !has_subset(taken->second, other);
    }
    if (!masked) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Assignment>> enumerate_valid(const Space& space, std::size_t limit) {
  std::size_t num_partial = 1;
  for (const Switch& one : space.switches) {
    num_partial *= one.values.size() + 1;
    if (num_partial > kMaxPartialAssignments) return std::nullopt;
  }
  const Nogoods nogoods(space);
  std::vector<Assignment> valid;
  Assignment prefix;
  if (!enumerate(nogoods, nogoods.full_domains(), prefix, limit, valid)) return std::nullopt;
  return valid;
}

std::vector<ExactCombination> minimal_combinations(const Space& space,
                                                   const std::vector<TableRow>& rows) {
  SetsOfFingerprint strict;
  for (const TableRow& row : rows) {
    if (row.fingerprint) strict[*row.fingerprint];
  }
  if (strict.empty()) return {};
  const PartialTable table(space, rows);
  // Candidates by size; within a size no candidate is part of another, so their order does not
  // matter.
  std::map<std::size_t, std::set<std::pair<SettingSet, std::size_t>>> candidates;
  for (auto& [fingerprint, sets] : strict) {
    sets = strict_sets(table, fingerprint);
    std::set<SettingSet> seen;
    std::vector<SettingSet> open = sets;
    while (!open.empty()) {
      const SettingSet set = std::move(open.back());
      open.pop_back();
      const std::size_t cell = table.cell(set);
      // Condition 1 only gets harder for smaller sets: a set that breaks it ends the branch.
      if (!table.always_fails(cell) || !seen.insert(set).second) continue;
      if (rows[table.plainest_row(cell)].fingerprint == fingerprint) {
        candidates[set.size()].emplace(set, fingerprint);
      }
      for (const Setting& one : set) open.push_back(without_switch(set, one.which));
    }
  }
  SetsOfFingerprint accepted;
  std::vector<ExactCombination> found;
  for (const auto& [size, sets] : candidates) {
    const SetsOfFingerprint smaller = accepted;
    for (const auto& [set, fingerprint] : sets) {
      const auto taken = smaller.find(fingerprint);
      if (taken != smaller.end() && has_subset(taken->second, set)) continue;
      if (!others_are_masking(rows, set, fingerprint, smaller, strict)) continue;
      accepted[fingerprint].push_back(set);
      found.push_back({set, fingerprint});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace culprit
