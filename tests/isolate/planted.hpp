// Programs with known bugs for the tests and benchmarks of isolation: which settings fail, with
// which fingerprint, how often, and which of two bugs shows first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isolate/nogoods.hpp"
#include "isolate/settings.hpp"
#include "isolate/space.hpp"

namespace culprit::planted {

struct Bug {
  SettingSet settings;
  std::string fingerprint;
  double rate = 1.0;
};

// Bugs in the order in which they strike: the first one that shows hides the later ones.
class Program {
 public:
  explicit Program(std::vector<Bug> bugs, std::uint64_t noise_seed = 1)
      : bugs_(std::move(bugs)), noise_(noise_seed) {}

  Trial run(const Assignment& assignment) {
    ++num_runs_;
    for (const Bug& bug : bugs_) {
      if (!contains(assignment, bug.settings)) continue;
      if (bug.rate < 1.0 && static_cast<double>(noise_.next() >> 11) * 0x1p-53 >= bug.rate)
        continue;
      return {Trial::Status::kFail, bug.fingerprint};
    }
    return {Trial::Status::kPass, ""};
  }
  Evaluate evaluator() {
    return [this](std::span<const Assignment> batch) {
      std::vector<Trial> trials;
      for (const Assignment& assignment : batch) {
        requests_.push_back(assignment);
        trials.push_back(run(assignment));
      }
      return trials;
    };
  }
  const std::vector<Assignment>& requests() const { return requests_; }
  std::size_t num_runs() const { return num_runs_; }
  const std::vector<Bug>& bugs() const { return bugs_; }

 private:
  std::vector<Bug> bugs_;
  Random noise_;
  std::size_t num_runs_ = 0;
  std::vector<Assignment> requests_;
};

inline Space two_valued(std::size_t num_switches) {
  Space space;
  for (std::size_t i = 0; i < num_switches; ++i) {
    space.switches.push_back({std::string("s").append(std::to_string(i)), {"on", "off"}});
  }
  return space;
}

// 2 to max_values values a switch.
inline Space random_space(Random& random, std::size_t num_switches, std::size_t max_values) {
  Space space;
  for (std::size_t i = 0; i < num_switches; ++i) {
    Switch one{std::string("s").append(std::to_string(i)), {}};
    const std::size_t num_values = 2 + random.below(max_values - 1);
    for (std::size_t value = 0; value < num_values; ++value) {
      one.values.push_back(std::string("v").append(std::to_string(value)));
    }
    space.switches.push_back(std::move(one));
  }
  return space;
}

// Settings of `size` different switches; with a chance of one in three each, an off one.
inline SettingSet random_settings(Random& random, const Space& space, std::size_t size) {
  std::vector<std::uint16_t> order;
  for (std::size_t i = 0; i < space.switches.size(); ++i) {
    order.push_back(static_cast<std::uint16_t>(i));
  }
  random.shuffle(order);
  SettingSet settings;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t num_values = space.switches[order[i]].values.size();
    const std::size_t value = random.below(3) == 0 ? num_values - 1 : random.below(num_values - 1);
    settings.push_back({order[i], static_cast<std::uint16_t>(value)});
  }
  std::sort(settings.begin(), settings.end());
  return settings;
}

inline bool has_on(const Space& space, const SettingSet& settings) {
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& one) {
    return one.value + std::size_t{1} != space.switches[one.which].values.size();
  });
}

// The required case: 40 two-valued switches; one 1-way, two 2-way, one 3-way and one inverted 2-way
// bug on switches of their own, striking in random order. flaky_bug (0 to 4) fails only at
// flaky_rate.
inline std::vector<Bug> five_bugs(Random& random, int flaky_bug = -1, double flaky_rate = 0.3) {
  std::vector<std::uint16_t> order(40);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  random.shuffle(order);
  std::size_t next = 0;
  std::vector<Bug> bugs;
  const auto plant = [&](std::size_t size, bool inverted, const std::string& name) {
    Bug bug;
    for (std::size_t i = 0; i < size; ++i) {
      const bool off = inverted && i + 1 == size;
      bug.settings.push_back({order[next++], static_cast<std::uint16_t>(off ? 1 : 0)});
    }
    std::sort(bug.settings.begin(), bug.settings.end());
    bug.fingerprint = name;
    bugs.push_back(std::move(bug));
  };
  plant(1, false, "one-way");
  plant(2, false, "two-way-a");
  plant(2, false, "two-way-b");
  plant(3, false, "three-way");
  plant(2, true, "inverted");
  if (flaky_bug >= 0) bugs[static_cast<std::size_t>(flaky_bug)].rate = flaky_rate;
  random.shuffle(bugs);
  return bugs;
}

}  // namespace culprit::planted
