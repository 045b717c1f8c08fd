// The parameters of a model and the values of everything: deterministic, the same on every layout of
// ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/cell.hpp"
#include "tensor/shape.hpp"

namespace culprit {

// Kinds of values; the number is part of the value formula.
enum class ValueKind { kEmbedding = 0, kColumn = 1, kRow = 2, kData = 3, kTarget = 4 };

// How a parameter is spread over the tensor-parallel ranks.
enum class Split { kReplicated, kColumns, kRows };

struct ParameterSpec {
  std::string name;
  ValueKind value_kind = ValueKind::kColumn;
  int block = 0;  // in all; says the stage
  int term = 0;
  Split split = Split::kReplicated;
  Shape shape;  // of the whole parameter
  bool trainable = true;
};

// Element i, row-major over the whole tensor: ((i*37 + (kind*97 + block*31 + term*13)*11 + 5) mod 101 - 50)
// / 100, float32. Column and row weights of D features are then multiplied by sqrt(8/D). For data and
// target `block` is the micro-batch. Source: the recorded facts' own formula (tests/data/README.md).
std::vector<float> make_values(ValueKind value_kind, int block, int term, Shape shape);

// Rows or columns of a row-major matrix that tensor rank `tp_rank` of `tp` owns.
template <class T>
std::vector<T> shard_of(const std::vector<T>& whole, Shape shape, Split split, int tp_rank, int tp) {
  if (split == Split::kReplicated) return whole;
  const bool by_rows = split == Split::kRows;
  const std::int64_t width = (by_rows ? shape.rows : shape.cols) / tp;
  const std::int64_t first = tp_rank * width;
  std::vector<T> part;
  for (std::int64_t r = by_rows ? first : 0; r < (by_rows ? first + width : shape.rows); ++r)
    for (std::int64_t c = by_rows ? 0 : first; c < (by_rows ? shape.cols : first + width); ++c)
      part.push_back(whole[static_cast<std::size_t>(r * shape.cols + c)]);
  return part;
}
Shape shard_shape(Shape shape, Split split, int tp);

// The stage that runs `block` when `blocks` are spread evenly over `pp` stages.
inline int stage_of(int block, const Cell& cell) { return block * cell.pp / cell.blocks; }

}  // namespace culprit
