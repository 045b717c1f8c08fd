// See nogoods.hpp.
#include "isolate/nogoods.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace culprit {
namespace {

constexpr std::size_t kMaxValues = 64;

std::uint64_t bit(std::uint16_t value) { return std::uint64_t{1} << value; }

}  // namespace

Nogoods Nogoods::unconstrained(const Space& space) {
  Nogoods nogoods;
  nogoods.mentioned_.assign(space.switches.size(), 0);
  for (const Switch& one : space.switches) {
    nogoods.num_values_.push_back(static_cast<std::uint16_t>(one.values.size()));
  }
  return nogoods;
}

Nogoods::Nogoods(const Space& space) : Nogoods(unconstrained(space)) {
  for (const Constraint& constraint : space.constraints) add(constraint.all_of);
}

void Nogoods::add(SettingSet settings) {
  std::sort(settings.begin(), settings.end());
  settings.erase(std::unique(settings.begin(), settings.end()), settings.end());
  for (std::size_t i = 1; i < settings.size(); ++i) {
    if (settings[i].which == settings[i - 1].which) return;  // two values at once: never happens
  }
  for (const Setting& setting : settings) mentioned_[setting.which] = 1;
  sets_.push_back(std::move(settings));
}

bool Nogoods::violated_by(const Assignment& assignment) const {
  return std::any_of(sets_.begin(), sets_.end(),
                     [&](const SettingSet& set) { return contains(assignment, set); });
}

Domains Nogoods::full_domains() const {
  Domains domains;
  for (const std::uint16_t count : num_values_) {
    domains.push_back(count == kMaxValues ? ~std::uint64_t{0} : bit(count) - 1);
  }
  return domains;
}

bool Nogoods::propagate(Domains& domains) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (const SettingSet& set : sets_) {
      const Setting* open = nullptr;
      int num_open = 0;
      bool satisfied = false;
      for (const Setting& setting : set) {
        const std::uint64_t domain = domains[setting.which];
        if ((domain & bit(setting.value)) == 0) {
          satisfied = true;
          break;
        }
        if (domain != bit(setting.value)) {
          open = &setting;
          ++num_open;
        }
      }
      if (satisfied || num_open > 1) continue;
      if (num_open == 0) return false;
      domains[open->which] &= ~bit(open->value);
      changed = true;
    }
  }
  return true;
}

bool Nogoods::assign(Domains& domains, std::span<const Setting> settings) const {
  for (const Setting& setting : settings) {
    domains[setting.which] &= bit(setting.value);
    if (domains[setting.which] == 0) return false;
  }
  return propagate(domains);
}

// Leaves a solution's remaining domains in `domains`: any choice from them is a solution.
bool Nogoods::solve(Domains& domains, const Assignment* prefer) const {
  if (!propagate(domains)) return false;
  for (const SettingSet& set : sets_) {
    const Setting* open = nullptr;
    bool satisfied = false;
    for (const Setting& setting : set) {
      if ((domains[setting.which] & bit(setting.value)) == 0) {
        satisfied = true;
        break;
      }
      if (open == nullptr && std::popcount(domains[setting.which]) > 1) open = &setting;
    }
    if (satisfied || open == nullptr) continue;
    const std::uint16_t which = open->which;
    std::vector<std::uint16_t> order;
    for (std::uint16_t value = 0; value < num_values_[which]; ++value) {
      if ((domains[which] & bit(value)) != 0) order.push_back(value);
    }
    if (prefer != nullptr) {
      std::stable_partition(order.begin(), order.end(),
                            [&](std::uint16_t value) { return value == (*prefer)[which]; });
    }
    for (const std::uint16_t value : order) {
      Domains next = domains;
      next[which] = bit(value);
      if (solve(next, prefer)) {
        domains = std::move(next);
        return true;
      }
    }
    return false;
  }
  return true;
}

bool Nogoods::solvable(const Domains& domains) const {
  Domains scratch = domains;
  return solve(scratch, nullptr);
}

std::optional<Assignment> Nogoods::complete(std::span<const Setting> fixed,
                                            const Assignment& prefer) const {
  // Most often the wish itself is a solution.
  const Assignment wish = with_settings(prefer, fixed);
  if (!violated_by(wish)) return wish;
  Domains domains = full_domains();
  if (!assign(domains, fixed) || !solve(domains, &prefer)) return std::nullopt;
  Assignment solution(num_values_.size(), 0);
  for (std::size_t i = 0; i < solution.size(); ++i) {
    const bool wished = (domains[i] & bit(prefer[i])) != 0;
    solution[i] = wished ? prefer[i] : static_cast<std::uint16_t>(std::countr_zero(domains[i]));
  }
  return solution;
}

bool Nogoods::search_plainest(const Domains& domains, const Assignment& off, std::size_t which,
                              std::size_t num_on_left, Assignment& found) const {
  if (which == off.size()) {
    for (std::size_t i = 0; i < off.size(); ++i) {
      found[i] = static_cast<std::uint16_t>(std::countr_zero(domains[i]));
    }
    return true;
  }
  const bool forced_on = std::has_single_bit(domains[which]) && domains[which] != bit(off[which]);
  for (std::uint16_t value = 0; value < num_values_[which]; ++value) {
    if ((domains[which] & bit(value)) == 0) continue;
    const bool is_on = value != off[which];
    if (is_on && (num_on_left == 0 || (!forced_on && mentioned_[which] == 0))) continue;
    Domains next = domains;
    const Setting setting{static_cast<std::uint16_t>(which), value};
    if (!assign(next, std::span(&setting, 1)) || !solvable(next)) continue;
    if (search_plainest(next, off, which + 1, num_on_left - (is_on ? 1 : 0), found)) return true;
  }
  return false;
}

std::optional<Assignment> Nogoods::plainest(std::span<const Setting> fixed,
                                            const Assignment& off) const {
  Assignment found = with_settings(off, fixed);
  if (!violated_by(found)) return found;
  Domains domains = full_domains();
  if (!assign(domains, fixed) || !solvable(domains)) return std::nullopt;
  // Rising budgets of switches that are on, the fixed ones included.
  for (std::size_t num_on = differences(off, found).size(); num_on <= off.size(); ++num_on) {
    if (search_plainest(domains, off, 0, num_on, found)) return found;
  }
  return std::nullopt;
}

void validate(const Space& space) {
  if (space.switches.empty()) throw UsageError("no switches to search: give at least one");
  std::set<std::string> names;
  for (const Switch& one : space.switches) {
    if (!names.insert(one.name).second) {
      throw UsageError("switch '" + one.name + "' is given twice");
    }
    if (one.values.size() < 2 || one.values.size() > kMaxValues) {
      throw UsageError("switch '" + one.name + "' has " + std::to_string(one.values.size()) +
                       " values, expected 2 to " + std::to_string(kMaxValues));
    }
    if (std::set<std::string>(one.values.begin(), one.values.end()).size() != one.values.size()) {
      throw UsageError("switch '" + one.name + "' has the same value twice");
    }
  }
  for (const Constraint& constraint : space.constraints) {
    if (constraint.all_of.empty()) {
      throw UsageError("constraint '" + constraint.text + "' forbids everything");
    }
    for (const Setting& setting : constraint.all_of) {
      if (setting.which >= space.switches.size() ||
          setting.value >= space.switches[setting.which].values.size()) {
        throw UsageError("constraint '" + constraint.text +
                         "' names a setting that does not exist");
      }
    }
  }
  const Assignment off = off_assignment(space);
  for (const Constraint& constraint : space.constraints) {
    if (contains(off, constraint.all_of)) {
      throw UsageError("constraint '" + constraint.text +
                       "' forbids the all-off run, which is the reference");
    }
  }
}

}  // namespace culprit
