#include "tensor/matmul_f64.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "tensor/blas_threads.hpp"

namespace culprit {
namespace {

// Multiplications that are worth a thread: some 10 ms.
constexpr double kWorthAThread = 1 << 28;
// The library keeps a buffer for each thread that is in it at once, and has not many.
constexpr std::int64_t kMostThreads = 16;

// The cores that this process may have: where several cells run at a time, each program is told its
// share by the variable that the BLAS library too is told it by.
std::int64_t num_cores() {
  const std::int64_t all = std::thread::hardware_concurrency();
  const char* share = std::getenv("OPENBLAS_NUM_THREADS");
  const std::int64_t told = share ? std::atol(share) : 0;
  return told > 0 ? std::min(told, all) : all;
}

std::int64_t num_parts(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto worth = static_cast<std::int64_t>(work / kWorthAThread);
  const std::int64_t cores = num_cores();
  return std::max<std::int64_t>(1, std::min({worth, cores, kMostThreads, m}));
}

}  // namespace

void add_matmul_f64(const std::vector<double>& a, bool transpose_a, const std::vector<double>& b,
                    bool transpose_b, std::vector<double>& c, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
  use_one_blas_thread();
  const auto op = [](bool transpose) { return transpose ? CblasTrans : CblasNoTrans; };
  const auto dim = [](std::int64_t size) { return static_cast<blasint>(size); };
  const auto add_rows = [&](std::int64_t first, std::int64_t end) {
    cblas_dgemm(CblasRowMajor, op(transpose_a), op(transpose_b), dim(end - first), dim(n), dim(k),
                1.0, a.data() + (transpose_a ? first : first * k), dim(transpose_a ? m : k),
                b.data(), dim(transpose_b ? k : n), 1.0, c.data() + first * n, dim(n));
  };
  // By rows of c, so that each is added up as in one call. Threads of this function's own: the
  // library's number of threads is the whole process's.
  const std::int64_t parts = num_parts(m, n, k);
  std::vector<std::jthread> threads;
  for (std::int64_t part = 1; part < parts; ++part) {
    const std::int64_t first = m * part / parts, end = m * (part + 1) / parts;
    try {
      threads.emplace_back(add_rows, first, end);
    } catch (const std::system_error&) {  // no more threads to be had
      add_rows(first, end);
    }
  }
  add_rows(0, m / parts);
}

}  // namespace culprit
