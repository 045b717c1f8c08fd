// See brute_force.hpp.
#include "isolate/brute_force.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <sstream>

namespace culprit::brute {
namespace {

using Bits = std::vector<std::uint64_t>;

bool any(const Bits& bits) {
  return std::any_of(bits.begin(), bits.end(), [](std::uint64_t word) { return word != 0; });
}
Bits both(Bits left, const Bits& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] &= right[i];
  return left;
}
bool within(const Bits& inner, const Bits& outer) {
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if ((inner[i] & ~outer[i]) != 0) return false;
  }
  return true;
}
std::size_t lowest(const Bits& bits) {
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (bits[i] != 0) return i * 64 + static_cast<std::size_t>(std::countr_zero(bits[i]));
  }
  return bits.size() * 64;
}

// Calls visit(set, rows that contain it) for every set that some row contains.
void for_each_set(const Space& space, const std::vector<TableRow>& rows,
                  const std::function<void(const SettingSet&, const Bits&)>& visit) {
  const std::size_t words = (rows.size() + 63) / 64;
  std::vector<std::vector<Bits>> having(space.switches.size());
  for (std::size_t i = 0; i < space.switches.size(); ++i) {
    having[i].assign(space.switches[i].values.size(), Bits(words, 0));
  }
  Bits all(words, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    all[row / 64] |= std::uint64_t{1} << (row % 64);
    for (std::size_t i = 0; i < having.size(); ++i) {
      having[i][rows[row].assignment[i]][row / 64] |= std::uint64_t{1} << (row % 64);
    }
  }
  SettingSet set;
  const std::function<void(std::size_t, const Bits&)> descend = [&](std::size_t which,
                                                                    const Bits& bits) {
    if (!any(bits)) return;
    if (which == having.size()) {
      visit(set, bits);
      return;
    }
    descend(which + 1, bits);
    for (std::size_t value = 0; value < having[which].size(); ++value) {
      set.push_back({static_cast<std::uint16_t>(which), static_cast<std::uint16_t>(value)});
      descend(which + 1, both(bits, having[which][value]));
      set.pop_back();
    }
  };
  descend(0, all);
}

Bits failing_with(const std::vector<TableRow>& rows, std::size_t fingerprint) {
  Bits bits((rows.size() + 63) / 64, 0);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].fingerprint == fingerprint) bits[row / 64] |= std::uint64_t{1} << (row % 64);
  }
  return bits;
}

std::string words(const SettingSet& set, std::size_t fingerprint) {
  std::ostringstream text;
  for (const Setting& one : set) text << one.which << '=' << one.value << ' ';
  text << "-> " << fingerprint;
  return text.str();
}

}  // namespace

std::vector<Assignment> valid_assignments(const Space& space) {
  std::vector<Assignment> valid;
  Assignment assignment(space.switches.size(), 0);
  for (;;) {
    const bool forbidden =
        std::any_of(space.constraints.begin(), space.constraints.end(),
                    [&](const Constraint& one) { return contains(assignment, one.all_of); });
    if (!forbidden) valid.push_back(assignment);
    std::size_t place = assignment.size();
    while (place > 0 &&
           assignment[place - 1] + std::size_t{1} == space.switches[place - 1].values.size()) {
      assignment[--place] = 0;
    }
    if (place == 0) return valid;
    ++assignment[place - 1];
  }
}

Table full_table(const Space& space, const std::vector<planted::Bug>& bugs) {
  planted::Program program(bugs);
  Table table;
  std::vector<Assignment> valid = valid_assignments(space);
  const auto num_on = [&](const Assignment& assignment) {
    return differences(off_assignment(space), assignment).size();
  };
  std::stable_sort(valid.begin(), valid.end(),
                   [&](const Assignment& left, const Assignment& right) {
                     return num_on(left) < num_on(right);
                   });
  for (const Assignment& assignment : valid) {
    const Trial trial = program.run(assignment);
    TableRow row{assignment, std::nullopt};
    if (trial.status == Trial::Status::kFail) {
      auto place =
          std::find(table.fingerprints.begin(), table.fingerprints.end(), trial.fingerprint);
      row.fingerprint = static_cast<std::size_t>(place - table.fingerprints.begin());
      if (place == table.fingerprints.end()) table.fingerprints.push_back(trial.fingerprint);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_constraints(Random& random, Space& space, std::size_t count) {
  while (space.constraints.size() < count) {
    const std::size_t size = std::min(space.switches.size(), 2 + random.below(2));
    Constraint constraint{planted::random_settings(random, space, size), "random"};
    if (planted::has_on(space, constraint.all_of))
      space.constraints.push_back(std::move(constraint));
  }
}

std::vector<planted::Bug> random_bugs(Random& random, const Space& space, std::size_t max_bugs,
                                      std::size_t max_size) {
  std::vector<planted::Bug> bugs;
  const std::size_t count = random.below(max_bugs + 1);
  while (bugs.size() < count) {
    const std::size_t size = 1 + random.below(std::min(max_size, space.switches.size()));
    planted::Bug bug{planted::random_settings(random, space, size), "shared"};
    if (!planted::has_on(space, bug.settings)) continue;
    if (random.below(3) != 0)
      bug.fingerprint = std::string("own").append(std::to_string(bugs.size()));
    bugs.push_back(std::move(bug));
  }
  return bugs;
}

std::set<SettingSet> prime_implicants(const Space& space, const Table& table,
                                      std::size_t fingerprint) {
  const Bits failing = failing_with(table.rows, fingerprint);
  std::set<SettingSet> implicants;
  for_each_set(space, table.rows, [&](const SettingSet& set, const Bits& rows) {
    if (within(rows, failing)) implicants.insert(set);
  });
  std::set<SettingSet> prime;
  for (const SettingSet& set : implicants) {
    const bool reducible = std::any_of(set.begin(), set.end(), [&](const Setting& one) {
      return implicants.count(without_switch(set, one.which)) != 0;
    });
    if (!reducible) prime.insert(set);
  }
  return prime;
}

std::string definition_violations(const Space& space, const Table& table,
                                  const std::vector<ExactCombination>& claimed) {
  std::vector<std::set<SettingSet>> prime;
  std::vector<Bits> failing;
  for (std::size_t f = 0; f < table.fingerprints.size(); ++f) {
    prime.push_back(prime_implicants(space, table, f));
    failing.push_back(failing_with(table.rows, f));
  }
  // For each row the claimed combinations in it that share its fingerprint.
  std::vector<std::vector<const SettingSet*>> accounts(table.rows.size());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    for (const ExactCombination& one : claimed) {
      if (table.rows[row].fingerprint == one.fingerprint &&
          contains(table.rows[row].assignment, one.settings)) {
        accounts[row].push_back(&one.settings);
      }
    }
  }
  std::set<ExactCombination> fulfilling;
  for_each_set(space, table.rows, [&](const SettingSet& set, const Bits& bits) {
    const auto plainest = table.rows[lowest(bits)].fingerprint;  // condition 2
    if (!plainest) return;
    const bool in_strict = std::any_of(prime[*plainest].begin(), prime[*plainest].end(),
                                       [&](const SettingSet& one) { return is_subset(set, one); });
    const bool is_strict = within(bits, failing[*plainest]);
    if (!in_strict && !is_strict) return;  // condition 4
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      if ((bits[row / 64] >> (row % 64) & 1U) == 0) continue;
      if (!table.rows[row].fingerprint) return;  // condition 1
      if (table.rows[row].fingerprint == plainest) continue;
      const bool masked = std::any_of(accounts[row].begin(), accounts[row].end(),
                                      [&](const SettingSet* one) { return !is_subset(*one, set); });
      if (!masked) return;  // condition 3
    }
    fulfilling.insert({set, *plainest});
  });
  const auto has_proper_part = [&](const ExactCombination& whole, const auto& list) {
    return std::any_of(list.begin(), list.end(), [&](const ExactCombination& one) {
      return one.fingerprint == whole.fingerprint && one.settings != whole.settings &&
             is_subset(one.settings, whole.settings);
    });
  };
  for (const ExactCombination& one : claimed) {
    const std::string name = words(one.settings, one.fingerprint);
    if (fulfilling.count(one) == 0) return "does not fulfil the conditions: " + name;
    if (has_proper_part(one, fulfilling)) return "is not minimal: " + name;
  }
  const std::set<ExactCombination> listed(claimed.begin(), claimed.end());
  for (const ExactCombination& one : fulfilling) {
    if (listed.count(one) == 0 && !has_proper_part(one, listed)) {
      return "is missing: " + words(one.settings, one.fingerprint);
    }
  }
  return "";
}

}  // namespace culprit::brute
