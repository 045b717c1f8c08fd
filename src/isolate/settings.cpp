// See settings.hpp.
#include "isolate/settings.hpp"

#include <algorithm>

namespace culprit {

Assignment off_assignment(const Space& space) {
  Assignment off;
  off.reserve(space.switches.size());
  for (const Switch& one : space.switches) {
    off.push_back(static_cast<std::uint16_t>(one.values.size() - 1));
  }
  return off;
}

Assignment first_assignment(const Space& space) { return Assignment(space.switches.size(), 0); }

SettingSet differences(const Assignment& from, const Assignment& to) {
  SettingSet different;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) different.push_back({static_cast<std::uint16_t>(i), to[i]});
  }
  return different;
}

bool is_subset(std::span<const Setting> inner, std::span<const Setting> outer) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

SettingSet without_switch(const SettingSet& settings, std::uint16_t which) {
  SettingSet rest;
  for (const Setting& setting : settings) {
    if (setting.which != which) rest.push_back(setting);
  }
  return rest;
}

SettingSet united(const SettingSet& left, const SettingSet& right) {
  SettingSet both;
  std::set_union(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

}  // namespace culprit
