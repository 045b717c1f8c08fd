// See covering_array.hpp.
#include "isolate/covering_array.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace culprit {
namespace {

constexpr int kCandidateRows = 3;  // more candidates save few rows and cost time

}  // namespace

CoveringArray::CoveringArray(const Space& space, int strength, Nogoods nogoods, SettingSet fixed)
    : space_(space),
      table_(space, strength),
      nogoods_(std::move(nogoods)),
      fixed_(std::move(fixed)),
      covered_(table_.size(), 0),
      open_(table_.size()) {
  for (std::size_t i = 0; i < open_.size(); ++i) open_[i] = i;
}

void CoveringArray::set_nogoods(Nogoods nogoods) {
  nogoods_ = std::move(nogoods);
  feasible_cache_.clear();
  open_.insert(open_.end(), infeasible_.begin(), infeasible_.end());
  infeasible_.clear();
}

void CoveringArray::cover(const Assignment& assignment) {
  table_.for_each(assignment, [&](std::size_t index) { covered_[index] = 1; });
}

std::size_t CoveringArray::num_open_in(const Assignment& assignment) const {
  std::size_t open = 0;
  table_.for_each(assignment, [&](std::size_t index) { open += covered_[index] == 0 ? 1 : 0; });
  return open;
}

bool CoveringArray::feasible(const SettingSet& tuple) {
  SettingSet key;
  for (const Setting& setting : tuple) {
    for (const Setting& fixed : fixed_) {
      if (fixed.which == setting.which && fixed.value != setting.value) return false;
    }
    if (nogoods_.mentions(setting.which)) key.push_back(setting);
  }
  const auto [place, is_new] = feasible_cache_.try_emplace(key, false);
  if (is_new) {
    Domains domains = nogoods_.full_domains();
    place->second = nogoods_.assign(domains, fixed_) && nogoods_.assign(domains, key) &&
                    nogoods_.solvable(domains);
  }
  return place->second;
}

std::optional<SettingSet> CoveringArray::open_tuple(Random& random) {
  while (!open_.empty()) {
    const std::size_t place = random.below(open_.size());
    const std::size_t index = open_[place];
    const bool covered = covered_[index] != 0;
    if (!covered) {
      SettingSet tuple = table_.tuple(index);
      if (feasible(tuple)) return tuple;
      infeasible_.push_back(index);
    }
    open_[place] = open_.back();
    open_.pop_back();
  }
  return std::nullopt;
}

Assignment CoveringArray::grow_row(const SettingSet& seed, Random& random) const {
  Domains domains = nogoods_.full_domains();
  nogoods_.assign(domains, fixed_);
  nogoods_.assign(domains, seed);
  SettingSet chosen = seed;
  std::vector<std::uint16_t> order;
  for (std::size_t i = 0; i < space_.switches.size(); ++i) {
    const auto which = static_cast<std::uint16_t>(i);
    const bool seeded = std::any_of(seed.begin(), seed.end(),
                                    [&](const Setting& one) { return one.which == which; });
    if (!seeded) order.push_back(which);
  }
  random.shuffle(order);
  for (const std::uint16_t which : order) {
    std::vector<std::pair<std::size_t, std::uint16_t>> ranked;  // (open tuples gained, value)
    for (std::uint16_t value = 0; value < space_.switches[which].values.size(); ++value) {
      if ((domains[which] >> value & 1U) == 0) continue;
      const std::size_t gain = table_.count_with(
          chosen, {which, value}, [&](std::size_t index) { return covered_[index] == 0; });
      ranked.emplace_back(gain, value);
    }
    random.shuffle(ranked);  // equal gains: no value is preferred
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& left, const auto& right) { return left.first > right.first; });
    for (const auto& [gain, value] : ranked) {
      const Setting setting{which, value};
      if (!nogoods_.mentions(which)) {
        domains[which] = std::uint64_t{1} << value;
      } else {
        Domains next = domains;
        if (!nogoods_.assign(next, std::span(&setting, 1)) || !nogoods_.solvable(next)) continue;
        domains = std::move(next);
      }
      chosen.insert(std::lower_bound(chosen.begin(), chosen.end(), setting), setting);
      break;
    }
  }
  Assignment row(space_.switches.size(), 0);
  for (const Setting& setting : chosen) row[setting.which] = setting.value;
  return row;
}

std::optional<Assignment> CoveringArray::next_row(Random& random) {
  std::optional<Assignment> best;
  std::size_t best_gain = 0;
  for (int candidate = 0; candidate < kCandidateRows; ++candidate) {
    const std::optional<SettingSet> seed = open_tuple(random);
    if (!seed) break;
    Assignment row = grow_row(*seed, random);
    const std::size_t gain = num_open_in(row);
    if (gain > best_gain) {
      best_gain = gain;
      best = std::move(row);
    }
  }
  return best;
}

std::vector<Assignment> covering_array(const Space& space, int strength, std::uint64_t seed) {
  validate(space);
  CoveringArray array(space, strength, Nogoods(space));
  Random random(seed);
  std::vector<Assignment> rows;
  while (std::optional<Assignment> row = array.next_row(random)) {
    array.cover(*row);
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace culprit
