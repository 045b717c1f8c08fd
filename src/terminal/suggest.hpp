// "Did you mean": the valid name nearest to a misspelt one.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace culprit {

// Insertions, deletions, substitutions and swaps of neighbours, each 1; upper and lower case are
// equal, and so are '-' and '_'.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate with the smallest distance, the first of equals; none when even that one differs in
// more than a third of the longer name (at least 1, so one slip in a short name is still found).
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

// "; did you mean 'x'?" or "", to be appended to an error's text.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace culprit
