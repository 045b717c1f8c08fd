#include "engine/parameter.hpp"

#include <cmath>

namespace culprit {

std::vector<float> make_values(ValueKind value_kind, int block, int term, Shape shape) {
  const std::int64_t offset = (static_cast<int>(value_kind) * 97 + block * 31 + term * 13) * 11 + 5;
  const bool is_weight = value_kind == ValueKind::kColumn || value_kind == ValueKind::kRow;
  const double factor = is_weight && shape.rows != 8 ? std::sqrt(8.0 / static_cast<double>(shape.rows)) : 1.0;
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::int64_t i = 0; i < shape.num_elements(); ++i)
    values[static_cast<std::size_t>(i)] =
        static_cast<float>(static_cast<double>((i * 37 + offset) % 101 - 50) / 100.0 * factor);
  return values;
}

Shape shard_shape(Shape shape, Split split, int tp) {
  if (split == Split::kColumns) shape.cols /= tp;
  if (split == Split::kRows) shape.rows /= tp;
  return shape;
}

}  // namespace culprit
