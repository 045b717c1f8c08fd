#include "terminal/suggest.hpp"

#include <algorithm>
#include <vector>

namespace culprit {
namespace {

std::string folded(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return result;
}

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right) {
  const std::string a = folded(left);
  const std::string b = folded(right);
  // Three rows of the usual table: two back (for swaps), one back, current.
  std::vector<std::size_t> older(b.size() + 1);
  std::vector<std::size_t> old(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) old[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], older[j - 2] + 1);
    }
    std::swap(older, old);
    std::swap(old, now);
  }
  return old[b.size()];
}

std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t allowed =
        std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    // A name of one letter is one substitution away from any other: that is no slip.
    if (distance > allowed || distance >= std::max(name.size(), candidate.size())) continue;
    if (!best || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const std::optional<std::string> nearest = nearest_name(name, candidates);
  return nearest ? "; did you mean '" + *nearest + "'?" : "";
}

}  // namespace culprit
