// See tuple_table.hpp.
#include "isolate/tuple_table.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace culprit {

TupleTable::TupleTable(const Space& space, int strength) : strength_(strength) {
  if (strength < 1 || strength > kMaxStrength) {
    throw UsageError("strength " + std::to_string(strength) + ", expected 1 to " +
                     std::to_string(kMaxStrength));
  }
  for (const Switch& one : space.switches) num_values_.push_back(one.values.size());
  const std::size_t num_switches = num_values_.size();
  choose_[0].assign(num_switches + 1, 1);
  for (std::size_t k = 1; k <= static_cast<std::size_t>(kMaxStrength); ++k) {
    choose_[k].assign(num_switches + 1, 0);
    for (std::size_t n = 1; n <= num_switches; ++n) {
      choose_[k][n] = choose_[k][n - 1] + choose_[k - 1][n - 1];
    }
  }
  const std::size_t num_choices = choose_[static_cast<std::size_t>(strength)][num_switches];
  offsets_.reserve(num_choices);
  std::vector<std::size_t> choice(static_cast<std::size_t>(strength));
  for (std::size_t i = 0; i < choice.size(); ++i) choice[i] = i;
  for (std::size_t rank = 0; rank < num_choices; ++rank) {
    std::size_t product = 1;
    for (const std::size_t which : choice) product *= num_values_[which];
    offsets_.push_back(size_);
    size_ += product;
    // Next choice in colexicographic order: raise the lowest place that can move, reset those
    // below.
    for (std::size_t i = 0; i < choice.size(); ++i) {
      const std::size_t limit = i + 1 < choice.size() ? choice[i + 1] : num_switches;
      if (choice[i] + 1 < limit) {
        ++choice[i];
        for (std::size_t below = 0; below < i; ++below) choice[below] = below;
        break;
      }
    }
  }
}

SettingSet TupleTable::tuple(std::size_t index) const {
  const auto above = std::upper_bound(offsets_.begin(), offsets_.end(), index);
  std::size_t rank = static_cast<std::size_t>(above - offsets_.begin()) - 1;
  std::size_t code = index - offsets_[rank];
  SettingSet settings(static_cast<std::size_t>(strength_));
  std::size_t which = num_values_.size();
  for (int i = strength_ - 1; i >= 0; --i) {
    const std::vector<std::size_t>& row = choose_[static_cast<std::size_t>(i) + 1];
    while (row[which] > rank) --which;
    rank -= row[which];
    settings[static_cast<std::size_t>(i)].which = static_cast<std::uint16_t>(which);
  }
  // The lowest switch is the fastest digit of the code.
  for (Setting& setting : settings) {
    setting.value = static_cast<std::uint16_t>(code % num_values_[setting.which]);
    code /= num_values_[setting.which];
  }
  return settings;
}

}  // namespace culprit
