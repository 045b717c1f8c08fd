// Which combinations of a matrix fail and are minimal.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "matrix/axes.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

// Indices into matrix.choices of the cells that fail and from which no switch can be turned off without
// passing: all combinations that are one switch smaller pass. Silent ones (wrong or missing gradients without
// an error) first, then by size. A switch that can't be off beside the others (release needs a pipeline) is part
// of the combination.
std::vector<std::size_t> minimal_failures(const Matrix& matrix, const std::vector<Outcome>& outcomes);

// The passing cell nearest to a failing one: one switch less, if possible in the same layout of ranks, so that the two
// can be compared call by call. None when nothing that is one switch smaller passes.
std::optional<std::size_t> nearest_passing(const Matrix& matrix, const std::vector<Outcome>& outcomes,
                                           std::size_t failing);

// What a scenario declared, against what was found: lines in words, empty when all came out as declared.
// Declared combinations that this matrix does not span are left out.
std::vector<std::string> differences_from_declared(const Scenario& scenario, const Matrix& matrix,
                                                   const std::vector<Outcome>& outcomes,
                                                   const std::vector<std::size_t>& minimal);

}  // namespace culprit
