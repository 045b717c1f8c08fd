// The shape of a tensor: rows x columns. Everything the scenarios need is a matrix: an activation
// is [tokens, features], a scalar is [1, 1].
#pragma once

#include <cstddef>
#include <cstdint>

namespace culprit {

struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t num_elements() const { return rows * cols; }
  bool operator==(const Shape&) const = default;
};

}  // namespace culprit
