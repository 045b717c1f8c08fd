// The reference against central differences of a forward pass written here from the formulas alone
// (tests/data/README.md): no code of src/ computes the numbers on this side.
#include <cmath>

#include "gtest/gtest.h"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

using Matrix = std::vector<double>;  // row-major

// Step of the differences: the loss is a polynomial of low degree with coefficients near 1, so the error is
// about step^2 + 1e-16 / step.
constexpr double kStep = 1e-5;
constexpr double kTolerance = 1e-7;

Matrix formula(int kind, int number, int term, int rows, int cols) {
  Matrix values;
  const double factor = (kind == 1 || kind == 2) ? std::sqrt(8.0 / rows) : 1.0;
  for (int i = 0; i < rows * cols; ++i) {
    const int hashed = (i * 37 + (kind * 97 + number * 31 + term * 13) * 11 + 5) % 101;
    values.push_back(static_cast<double>(static_cast<float>((hashed - 50) / 100.0 * factor)));
  }
  return values;
}

Matrix times(const Matrix& a, const Matrix& b, int inner) {
  const int rows = static_cast<int>(a.size()) / inner, cols = static_cast<int>(b.size()) / inner;
  Matrix c(static_cast<std::size_t>(rows * cols), 0.0);
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < inner; ++k)
      for (int j = 0; j < cols; ++j) c[r * cols + j] += a[r * inner + k] * b[k * cols + j];
  return c;
}
Matrix plus(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

using Weights = std::map<std::string, Matrix>;

Weights weights_of(const Cell& cell) {
  const int d = cell.hidden;
  Weights weights;
  if (cell.embed) weights["embed"] = formula(0, 0, 0, d, d);
  for (int b = 0; b < cell.blocks; ++b) {
    for (int j = 0; j < cell.fan_out; ++j)
      weights["col" + std::to_string(b) + "." + std::to_string(j)] = formula(1, b, j, d, d);
    if (cell.tail == Tail::kRow) weights["row" + std::to_string(b)] = formula(2, b, 0, d, d);
  }
  return weights;
}

double loss_of(const Cell& cell, const Weights& weights) {
  const int d = cell.hidden;
  double loss = 0.0;
  for (int m = 0; m < cell.acc; ++m) {
    Matrix x = formula(3, m, 0, cell.tokens, d);
    if (cell.embed) x = times(x, weights.at("embed"), d);
    for (int b = 0; b < cell.blocks; ++b) {
      Matrix y(x.size(), 0.0);
      for (int j = 0; j < cell.fan_out; ++j)
        y = plus(y, times(x, weights.at("col" + std::to_string(b) + "." + std::to_string(j)), d));
      if (cell.tail == Tail::kRow) y = times(y, weights.at("row" + std::to_string(b)), d);
      x = cell.residual ? plus(y, x) : y;
    }
    const Matrix target = formula(4, m, 0, cell.tokens, d);
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - target[i]) * (x[i] - target[i]);
    loss += sum / static_cast<double>(x.size()) / cell.acc;
  }
  return loss;
}

struct Sized {
  const char* name;
  Settings settings;
};
class ReferenceGradientTest : public ::testing::TestWithParam<Sized> {};

TEST_P(ReferenceGradientTest, AgreesWithCentralDifferencesInFloat64) {
  Settings settings = GetParam().settings;
  settings.insert(settings.begin(), {{"tp", "1"}, {"pp", "1"}});
  const Cell cell = cell_of(settings);
  const Reference reference = make_reference(stack(), cell, /*keep_all=*/false);
  Weights weights = weights_of(cell);
  EXPECT_NEAR(reference.loss, loss_of(cell, weights), 1e-12);
  ASSERT_EQ(reference.grads.size(), weights.size());
  for (auto& [name, values] : weights) {
    const auto& grad = reference.grads.at(name).back();
    ASSERT_EQ(grad.size(), values.size());
    for (std::size_t i = 0; i < values.size(); i += 3) {  // a third of the entries of every parameter
      const double kept = values[i];
      values[i] = kept + kStep;
      const double high = loss_of(cell, weights);
      values[i] = kept - kStep;
      const double low = loss_of(cell, weights);
      values[i] = kept;
      const double expected = (high - low) / (2 * kStep);
      ASSERT_NEAR(grad[i], expected, kTolerance * std::max(1.0, std::abs(expected))) << name << " entry " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cells, ReferenceGradientTest,
    ::testing::Values(Sized{"Default", {}}, Sized{"Gather", {{"tail", "gather"}}},
                      Sized{"Residual", {{"residual", "1"}}},
                      Sized{"FanOutThreeResidual", {{"fan_out", "3"}, {"residual", "1"}}},
                      Sized{"NoEmbeddingScale", {{"embed", "0"}, {"first_op", "scale"}}},
                      Sized{"Hidden6Tokens5", {{"hidden", "6"}, {"tokens", "5"}, {"acc", "2"}}},
                      Sized{"Hidden16Blocks3", {{"hidden", "16"}, {"blocks", "3"}, {"acc", "1"}, {"residual", "1"}}},
                      Sized{"OneTokenOneMicroBatch", {{"tokens", "1"}, {"acc", "1"}, {"tail", "gather"}}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace culprit::test
