// Small helpers over Assignment and Setting that every part of the search shares. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "isolate/space.hpp"

namespace culprit {

// Interactions of more switches are not searched for: t-way tuples get too many.
inline constexpr int kMaxStrength = 4;

// A set of settings, sorted by switch, at most one a switch.
using SettingSet = std::vector<Setting>;

// True when the assignment has every setting of the set. O(settings).
inline bool contains(const Assignment& assignment, std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    if (assignment[setting.which] != setting.value) return false;
  }
  return true;
}

// The assignment with the settings written over it.
inline Assignment with_settings(Assignment assignment, std::span<const Setting> settings) {
  for (const Setting& setting : settings) assignment[setting.which] = setting.value;
  return assignment;
}

// Every switch at its last value: the reference.
Assignment off_assignment(const Space& space);

// Every switch at its first value: the reporter's run.
Assignment first_assignment(const Space& space);

// The settings in which `to` differs from `from`, with the values of `to`.
SettingSet differences(const Assignment& from, const Assignment& to);

// True when every setting of `inner` is in `outer`; both sorted.
bool is_subset(std::span<const Setting> inner, std::span<const Setting> outer);

// The set without its setting of one switch.
SettingSet without_switch(const SettingSet& settings, std::uint16_t which);

// The union of two sets that agree where they overlap, sorted.
SettingSet united(const SettingSet& left, const SettingSet& right);

// SplitMix64 (Steele, Lea, Flood 2014). The standard library's distributions may differ between
// implementations; a journal must replay everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t mixed = (state_ += 0x9E3779B97F4A7C15ULL);
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
  }
  // Uniform enough in [0, bound), bound > 0: the modulo's bias is below bound / 2^64.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }
  template <class Sequence>
  void shuffle(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i)
      std::swap(sequence[i - 1], sequence[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace culprit
