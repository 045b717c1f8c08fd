#include "tensor/matmul_f64.hpp"

#include <cblas.h>

#include "tensor/blas_threads.hpp"

namespace culprit {

void add_matmul_f64(const std::vector<double>& a, bool transpose_a, const std::vector<double>& b,
                    bool transpose_b, std::vector<double>& c, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  use_one_blas_thread();
  const auto op = [](bool transpose) { return transpose ? CblasTrans : CblasNoTrans; };
  const auto dim = [](std::int64_t size) { return static_cast<blasint>(size); };
  cblas_dgemm(CblasRowMajor, op(transpose_a), op(transpose_b), dim(m), dim(n), dim(k), 1.0,
              a.data(), dim(transpose_a ? m : k), b.data(), dim(transpose_b ? k : n), 1.0, c.data(),
              dim(n));
}

}  // namespace culprit
