// The reference's product where it is spread over threads, against single entries worked out one by
// one.
#include "tensor/matmul_f64.hpp"

#include <cmath>

#include "gtest/gtest.h"

namespace culprit {
namespace {

std::vector<double> values(std::int64_t count, std::int64_t step) {
  std::vector<double> list(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    list[static_cast<std::size_t>(i)] = static_cast<double>(i * step % 101 - 50) / 64.0;
  return list;
}

void expect_product(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a,
                    bool transpose_b) {
  SCOPED_TRACE(testing::Message() << m << "x" << n << "x" << k << (transpose_a ? " a^T" : "")
                                  << (transpose_b ? " b^T" : ""));
  const std::vector<double> a = values(m * k, 37), b = values(k * n, 53);
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.5);
  add_matmul_f64(a, transpose_a, b, transpose_b, c, m, n, k);
  // Every row, so that each part's edges are among them; the numbers are sums without rounding.
  for (std::int64_t row = 0; row < m; ++row) {
    const std::int64_t col = row * 7 % n;
    double sum = 0.5;
    for (std::int64_t i = 0; i < k; ++i)
      sum += a[static_cast<std::size_t>(transpose_a ? i * m + row : row * k + i)] *
             b[static_cast<std::size_t>(transpose_b ? col * k + i : i * n + col)];
    ASSERT_EQ(c[static_cast<std::size_t>(row * n + col)], sum) << "row " << row;
  }
}

TEST(MatmulF64, SmallInOnePart) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) expect_product(5, 3, 4, transpose_a, transpose_b);
}

TEST(MatmulF64, LargeInSeveralPartsOfUnequalSize) {
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      expect_product(1031, 701, 1024, transpose_a, transpose_b);
}

}  // namespace
}  // namespace culprit
