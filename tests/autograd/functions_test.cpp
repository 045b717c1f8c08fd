// Rule 3 and the alias claims of autograd/functions.hpp, one test a function; gradients against central
// differences.
#include <cmath>

#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

struct Operator {
  std::string name;
  std::function<Tensor(Context&, const Tensor&)> run;  // of [1, 4]
  enum class Alias { kFresh, kView, kSame } alias = Alias::kFresh;
  bool saves_input = false;
};

// Side values that need no gradient are made on the fly.
Tensor constant(Context& context, Shape shape, float first) {
  auto impl = context.allocate(shape);
  Floats values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + 0.5F * static_cast<float>(i);
  context.backend().upload(values, impl->data());
  return context.wrap(std::move(impl));
}

std::vector<Operator> operators() {
  using C = Context&;
  using T = const Tensor&;
  return {
      {.name = "MatmulLeft", .run = [](C c, T a) { return matmul(c, a, constant(c, {4, 2}, -1.0F)); },
       .saves_input = true},
      {.name = "MatmulRight",
       .run = [](C c, T a) { return matmul(c, constant(c, {2, 1}, 1.0F), a); },
       .saves_input = true},
      {.name = "AddLeft", .run = [](C c, T a) { return add(c, a, constant(c, {1, 4}, 1.0F)); }},
      {.name = "AddRight", .run = [](C c, T a) { return add(c, constant(c, {1, 4}, 1.0F), a); }},
      {.name = "SubtractLeft", .run = [](C c, T a) { return subtract(c, a, constant(c, {1, 4}, 1.0F)); }},
      {.name = "SubtractRight", .run = [](C c, T a) { return subtract(c, constant(c, {1, 4}, 1.0F), a); }},
      {.name = "Scale", .run = [](C c, T a) { return scale(c, a, -1.5); }},
      {.name = "Square", .run = [](C c, T a) { return square(c, a); }, .saves_input = true},
      {.name = "Mean", .run = [](C c, T a) { return mean(c, a); }},
      {.name = "View", .run = [](C c, T a) { return view(c, a, {2, 2}); }, .alias = Operator::Alias::kView},
      {.name = "ReshapeOther", .run = [](C c, T a) { return reshape(c, a, {4, 1}); },
       .alias = Operator::Alias::kView},
      {.name = "ReshapeSame", .run = [](C c, T a) { return reshape(c, a, a.shape()); },
       .alias = Operator::Alias::kSame},
      {.name = "Assign", .run = [](C c, T a) { return assign(c, a); }},
  };
}

class FunctionsTest : public OneRankTest, public ::testing::WithParamInterface<Operator> {};

TEST_P(FunctionsTest, ResultAliasesItsInputAsDeclared) {
  const Tensor w = parameter("w", {1, -2, 3, 0.5F});
  const Tensor y = GetParam().run(context, w);
  EXPECT_EQ(y.is(w), GetParam().alias == Operator::Alias::kSame);
  EXPECT_EQ(shares_storage(y, w), GetParam().alias != Operator::Alias::kFresh);
  EXPECT_EQ(y.impl() == w.impl(), GetParam().alias == Operator::Alias::kSame);
}

TEST_P(FunctionsTest, GradientAgreesWithCentralDifferences) {
  // float32 forward, step 1/8: every operator here is at most quadratic, so the differences are exact up
  // to rounding of values near 10.
  constexpr float kStep = 0.125F;
  constexpr float kTolerance = 1e-4F;
  const Floats at{1, -2, 3, 0.5F};
  const auto weighted_sum = [&](const Floats& values) {
    const Tensor y = GetParam().run(context, data(values));
    float sum = 0.0F, weight = 1.0F;
    for (const float v : values_of(y)) sum += (weight += 0.5F) * v;
    return sum;
  };
  const Tensor w = parameter("w", at);
  const Tensor y = GetParam().run(context, w);
  Floats weights(static_cast<std::size_t>(y.shape().num_elements()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 1.5F + 0.5F * static_cast<float>(i);
  if (y.is(w)) return;  // a leaf as a root records nothing
  backward(context, {y}, {tensor(y.shape(), weights, "seed", true)});
  const Floats grad = values_of(w.grad());
  for (std::size_t i = 0; i < at.size(); ++i) {
    Floats high = at, low = at;
    high[i] += kStep;
    low[i] -= kStep;
    EXPECT_NEAR(grad[i], (weighted_sum(high) - weighted_sum(low)) / (2 * kStep), kTolerance) << i;
  }
}

TEST_P(FunctionsTest, InplaceWriteAfterUseIsAnErrorExactlyWhereTheInputIsSaved) {
  const Tensor w = parameter("w", {1, -2, 3, 0.5F});
  const Tensor y = GetParam().run(context, w);
  w.impl()->bump_inplace_version();
  const Raised error = raised([&] { backward(context, {y}, {Tensor()}); });
  EXPECT_EQ(error.kind, GetParam().saves_input ? std::string(kind::kInplaceVersion) : "");
}

TEST_P(FunctionsTest, NothingIsRecordedOrSavedWithoutANeedForGradients) {
  const std::int64_t before = live_bytes();
  Tensor y;
  {
    const Tensor x = data({1, -2, 3, 0.5F});
    y = GetParam().run(context, x);
  }
  EXPECT_TRUE(y.stop_gradient());
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(live_bytes() - before, 4 * y.shape().num_elements());  // the result alone
}

TEST_P(FunctionsTest, NothingIsRecordedUnderNoGrad) {
  const Tensor w = parameter("w", {1, -2, 3, 0.5F});
  const GradMode off(context, false);
  const Tensor y = GetParam().run(context, w);
  EXPECT_TRUE(y.is_leaf());
}

INSTANTIATE_TEST_SUITE_P(All, FunctionsTest, ::testing::ValuesIn(operators()),
                         [](const auto& instance) { return instance.param.name; });

using MatmulTest = OneRankTest;

TEST_F(MatmulTest, ChecksBothInputsEvenWhereOneGradientIsNotNeeded) {
  const Tensor x = tensor({2, 1}, {1, 2}, "x", true);
  const Tensor w = parameter("w", {3, 4});
  const Tensor y = matmul(context, x, w);  // dw needs x alone
  w.impl()->bump_inplace_version();
  w.impl()->bump_inplace_version();
  const Raised error = raised([&] { backward(context, {y}, {Tensor()}); });
  EXPECT_EQ(error.kind, kind::kInplaceVersion);
  EXPECT_NE(error.message.find("has been modified by an inplace operation. Its version is 2 but the expected "
                               "version is 0"),
            std::string::npos)
      << error.message;
}

TEST_F(MatmulTest, NoticesAWriteThroughAViewOfItsInput) {
  const Tensor w = parameter("w", {3, 4});
  const Tensor y = matmul(context, tensor({2, 1}, {1, 2}, "x", true), w);
  view(context, w, {2, 1}).impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kInplaceVersion);
}

TEST_F(MatmulTest, RefusesInnerSizesThatDiffer) {
  EXPECT_THROW(matmul(context, data({1, 2}), data({1, 2})), std::invalid_argument);
  EXPECT_THROW(add(context, data({1, 2}), data({1, 2, 3})), std::invalid_argument);
  EXPECT_THROW(view(context, data({1, 2}), {3, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace culprit::test
