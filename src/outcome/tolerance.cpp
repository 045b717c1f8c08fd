#include "outcome/tolerance.hpp"

namespace culprit {

Tolerance tolerance_for(const Cell& cell) {
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
  return {.loss = bound, .grad = bound};
}

}  // namespace culprit
