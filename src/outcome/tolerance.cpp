#include "outcome/tolerance.hpp"

#include <algorithm>

namespace culprit {

Tolerance tolerance_for(const Cell& cell) {
  // The recorded facts' own bounds, which random cells at other sizes keep too: rounding that
  // cancels makes some of their clean gradients off by more than the textbook bound.
  constexpr Tolerance kFloat32{.loss = 1e-4, .grad = 1e-3};
  if (cell.dtype == DType::kFloat32) return kFloat32;
  // Summands of all sums on the longest way: a block's column and row product and its additions,
  // forth and back, the embedding forth and back, then a weight's gradient over tokens,
  // micro-batches and ranks.
  const double per_block = 2.0 * cell.hidden + cell.fan_out + 2.0;
  const double summands =
      2.0 * (cell.blocks * per_block + cell.hidden) + cell.tokens + cell.acc + cell.tp;
  // Stores on that way. A block: an operator before, fan_out products and their additions, the row
  // product, its all-reduce or gather, the residual; then loss and scaling; then a store for each
  // micro-batch accumulated.
  const double stores = 2.0 * cell.blocks * (2.0 * cell.fan_out + 4.0) + 8.0 + cell.acc;
  const double bound =
      unit_roundoff(DType::kFloat32) * summands + unit_roundoff(cell.dtype) * stores;
  return {.loss = std::max(kFloat32.loss, bound), .grad = std::max(kFloat32.grad, bound)};
}

}  // namespace culprit
