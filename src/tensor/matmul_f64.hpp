// The reference's matrix product.
#pragma once

#include <cstdint>
#include <vector>

namespace culprit {

// c[m,n] += op(a)[m,k] op(b)[k,n] in float64, where op transposes if asked (a is then [k,m], b
// [n,k]). Large products are spread over threads, at most OPENBLAS_NUM_THREADS: a reference is made
// while no rank of its process runs.
void add_matmul_f64(const std::vector<double>& a, bool transpose_a, const std::vector<double>& b,
                    bool transpose_b, std::vector<double>& c, std::int64_t m, std::int64_t n,
                    std::int64_t k);

}  // namespace culprit
