// Every scenario's matrix on the GPU against the CPU: the same outcome, kind and place, and
// gradients that differ by rounding alone.
#include <cmath>

#include "base/error.hpp"
#include "cuda/cuda_runtime.hpp"
#include "engine/run_cell.hpp"
#include "gtest/gtest.h"
#include "matrix/axes.hpp"
#include "outcome/run_once.hpp"
#include "outcome/tolerance.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {
namespace {

using Case = std::tuple<const Scenario*, DType>;

class CudaParityTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    try {
      cuda_runtime();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

std::vector<Cell> matrix_cells(const Scenario& scenario, DType dtype) {
  Cell pinned;
  pinned.pp = 2;
  pinned.dtype = dtype;
  const Matrix matrix = make_matrix(scenario, pinned, /*with_recompute=*/true);
  std::vector<Cell> cells;
  for (const Choice& choice : matrix.choices) {
    cells.push_back(cell_of(matrix, choice));
    if (own_value(cells.back(), "wait") == "left_out")
      cells.pop_back();  // a race: by timing (cuda_timing_test.cpp)
  }
  return cells;
}

// Largest difference of two ranks' gradients, relative to their largest entry; infinite when only
// one has a gradient.
double grad_difference(const std::vector<RankResult>& a, const std::vector<RankResult>& b) {
  double worst = 0.0;
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t p = 0; p < std::min(a[r].grads.size(), b[r].grads.size()); ++p) {
      const auto &x = a[r].grads[p].grad, &y = b[r].grads[p].grad;
      if (x.has_value() != y.has_value()) return INFINITY;
      if (!x) continue;
      double off = 0.0, largest = 1e-12;
      for (std::size_t i = 0; i < x->size(); ++i) {
        off = std::max(off, std::abs(static_cast<double>((*x)[i]) - static_cast<double>((*y)[i])));
        largest = std::max(largest, std::abs(static_cast<double>((*x)[i])));
      }
      worst = std::max(worst, off / largest);
    }
  return worst;
}

TEST_P(CudaParityTest, MatrixComesOutAsOnTheCpu) {
  const auto& [scenario, dtype] = GetParam();
  double worst = 0.0;
  for (const Cell& cell : matrix_cells(*scenario, dtype)) {
    const Outcome cpu = run_once(scenario->model, cell),
                  gpu = run_once(scenario->model, cell, {.runtime = &cuda_runtime()});
    std::string flags;
    for (const std::string& flag : to_flags(cell)) flags += flag + " ";
    EXPECT_EQ(fingerprint(cpu), fingerprint(gpu)) << flags;
    EXPECT_EQ(cpu.where, gpu.where) << flags;
    EXPECT_EQ(cpu.copied_bytes, gpu.copied_bytes) << flags;
    EXPECT_EQ(cpu.peak_bytes, gpu.peak_bytes) << flags;
    const double off =
        grad_difference(run_cell(scenario->model, cell),
                        run_cell(scenario->model, cell, {.runtime = &cuda_runtime()}));
    EXPECT_LE(off, dtype == DType::kFloat32 ? 1e-5 : 2.0 * tolerance_for(cell).grad) << flags;
    worst = std::max(worst, off);
  }
  std::printf("largest difference of a gradient: %.3g\n", worst);
}

std::string case_name(const ::testing::TestParamInfo<Case>& instance) {
  const auto& [scenario, dtype] = instance.param;
  return scenario->name + "_" + std::string(name_of(dtype));
}
INSTANTIATE_TEST_SUITE_P(Scenarios, CudaParityTest,
                         ::testing::Combine(::testing::ValuesIn(all_scenarios()),
                                            ::testing::Values(DType::kFloat32, DType::kFloat16,
                                                              DType::kBFloat16)),
                         case_name);

}  // namespace
}  // namespace culprit::test
