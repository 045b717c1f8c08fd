// See ddmin.hpp.
#include "isolate/ddmin.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace culprit {
namespace {

using Indices = std::vector<std::size_t>;

std::vector<Indices> split(const Indices& whole, std::size_t num_parts) {
  std::vector<Indices> parts;
  for (std::size_t part = 0; part < num_parts; ++part) {
    const auto from = static_cast<std::ptrdiff_t>(whole.size() * part / num_parts);
    const auto to = static_cast<std::ptrdiff_t>(whole.size() * (part + 1) / num_parts);
    parts.emplace_back(whole.begin() + from, whole.begin() + to);
  }
  return parts;
}

Indices minus(const Indices& whole, const Indices& part) {
  Indices rest;
  std::set_difference(whole.begin(), whole.end(), part.begin(), part.end(),
                      std::back_inserter(rest));
  return rest;
}

}  // namespace

std::vector<std::size_t> ddmin(std::size_t count, const SubsetTest& test) {
  Indices current(count);
  for (std::size_t i = 0; i < count; ++i) current[i] = i;
  std::map<Indices, bool> tried;
  const auto fails = [&](const Indices& subset) {
    const auto [place, is_new] = tried.try_emplace(subset, false);
    if (is_new) place->second = test(subset) == SubsetOutcome::kFails;
    return place->second;
  };
  if (count > 0 && fails({})) return {};
  std::size_t granularity = 2;
  while (current.size() >= 2) {
    const std::vector<Indices> parts = split(current, granularity);
    bool reduced = false;
    for (const Indices& part : parts) {
      if (fails(part)) {
        current = part;
        granularity = 2;
        reduced = true;
        break;
      }
    }
    for (std::size_t i = 0; !reduced && granularity > 2 && i < parts.size(); ++i) {
      const Indices complement = minus(current, parts[i]);
      if (fails(complement)) {
        current = complement;
        granularity = std::max<std::size_t>(granularity - 1, 2);
        reduced = true;
      }
    }
    if (reduced) continue;
    if (granularity >= current.size()) break;
    granularity = std::min(current.size(), 2 * granularity);
  }
  return current;
}

}  // namespace culprit
