// Rules 3 and 4: edges, accumulation, missing gradients, freed graphs.
#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

using BackwardTest = OneRankTest;

TEST_F(BackwardTest, NodeRunsOnceAfterAllItsConsumers) {
  const Tensor w = parameter("w", {1, 2});
  int runs = 0;
  Floats arrived;
  const Tensor h = call(
      context, copy_inputs,
      [&](FunctionContext&, const Tensors& grads) {
        ++runs;
        arrived = values_of(grads[0]);
        return grads;
      },
      {w})[0];
  const Tensor near = scale(context, h, 2.0);
  const Tensor far = scale(context, scale(context, scale(context, h, 3.0), 1.0), 1.0);
  backward(context, {add(context, near, far)}, {data({1, 1})});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(arrived, (Floats{5, 5}));
}

TEST_F(BackwardTest, LeafGradientsAddUpOverPasses) {
  const Tensor w = parameter("w", {1, 2});
  for (int pass = 0; pass < 3; ++pass) backward(context, {scale(context, w, 2.0)}, {data({1, 10})});
  EXPECT_EQ(values_of(w.grad()), (Floats{6, 60}));
}

TEST_F(BackwardTest, NoGradientMeansOnes) {
  const Tensor w = parameter("w", {1, 2});
  backward(context, {scale(context, w, 2.0)}, {Tensor()});
  EXPECT_EQ(values_of(w.grad()), (Floats{2, 2}));
}

TEST_F(BackwardTest, StoppedRootAndUnusedLeafDoNothing) {
  const Tensor w = parameter("w", {1, 2});
  backward(context, {data({1, 2})}, {Tensor()});
  backward(context, {w}, {Tensor()});
  EXPECT_FALSE(w.grad().defined());
}

TEST_F(BackwardTest, RootThatLeadsToAnotherRootRunsFirst) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor h = scale(context, w, 2.0);
  const Tensor y = scale(context, h, 5.0);
  backward(context, {h, y}, {data({1, 1}), data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{12, 12}));
}

TEST_F(BackwardTest, EdgesAreThoseAtTheTimeOfUse) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor h = scale(context, w, 1.0);
  const Tensor before = scale(context, h, 1.0);
  call(context, return_inputs, double_grads, {h});  // rebases h
  const Tensor after = scale(context, h, 1.0);
  backward(context, {before}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{1, 1}));
  backward(context, {after}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{3, 3}));
}

TEST_F(BackwardTest, GradientOfARebasedLeafCanStillBeRead) {
  const Tensor w = parameter("w", {1, 2});
  call(
      context,
      [](FunctionContext& fc, const Tensors& inputs) {
        fc.mark_not_inplace(inputs[0]);
        return inputs;
      },
      double_grads, {w});
  EXPECT_FALSE(w.is_leaf());
  backward(context, {scale(context, w, 3.0)}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{6, 6}));
}

TEST_F(BackwardTest, ReachedOperatorWithoutGradientGetsZeros) {
  const Tensor x = tensor({1, 2}, {1, 2}, "x", true);
  const Tensor w = tensor({2, 1}, {3, 4}, "w", false);
  const Tensor h = matmul(context, x, w);
  const Tensor y = call(context, copy_inputs, give_none, {add(context, h, h)})[0];
  backward(context, {y}, {Tensor()});
  ASSERT_TRUE(w.grad().defined());
  EXPECT_EQ(values_of(w.grad()), (Floats{0, 0}));
}

TEST_F(BackwardTest, ReachedCustomFunctionWithoutGradientGetsZerosOfItsOutputsShape) {
  const Tensor w = parameter("w", {1, 2});
  Floats arrived;
  const Tensor h = call(
      context, copy_inputs,
      [&](FunctionContext&, const Tensors& grads) {
        arrived = values_of(grads[0]);
        return grads;
      },
      {w})[0];
  backward(context, {call(context, copy_inputs, give_none, {h})[0]}, {Tensor()});
  EXPECT_EQ(arrived, (Floats{0, 0}));
}

TEST_F(BackwardTest, ReachedLeafWithoutGradientKeepsNone) {
  const Tensor w = parameter("w", {1, 2});
  backward(context, {call(context, copy_inputs, give_none, {w})[0]}, {Tensor()});
  EXPECT_FALSE(w.grad().defined());
}

TEST_F(BackwardTest, ReachedScaleWithoutGradientCrashes) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor y = call(context, copy_inputs, give_none, {scale(context, w, 1.0)})[0];
  EXPECT_THROW(backward(context, {y}, {Tensor()}), ModelledCrash);
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, "SIGSEGV");
}

// The sides of an add or subtract, and which of them is written in place.
struct Sides {
  const char* name;
  Tensor (*run)(Context&, const Tensor&, const Tensor&);
  bool left;
};
class AddGradientTest : public OneRankTest, public ::testing::WithParamInterface<Sides> {};

TEST_P(AddGradientTest, InplaceWriteToOneSideNeverReachesTheOther) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor v = parameter("v", {3, 4});
  const auto overwrite = [](FunctionContext& fc, const Tensors& grads) {
    fc.context().backend().fill(99.0F, grads[0].impl()->data(), 2);
    return grads;
  };
  const Tensor written = call(context, copy_inputs, overwrite, {w})[0];
  const Tensor y = GetParam().left ? GetParam().run(context, written, v) : GetParam().run(context, v, written);
  const Tensor seed = data({1, 1});
  backward(context, {y}, {seed});
  EXPECT_EQ(values_of(w.grad()), (Floats{99, 99}));
  EXPECT_FALSE(shares_storage(w.grad(), v.grad()));
  const float expected = !GetParam().left || GetParam().run == &add ? 1.0F : -1.0F;
  EXPECT_EQ(values_of(v.grad()), (Floats{expected, expected}));
  EXPECT_EQ(values_of(seed), (Floats{1, 1}));
}
INSTANTIATE_TEST_SUITE_P(Sides, AddGradientTest,
                         ::testing::Values(Sides{"AddLeft", &add, true}, Sides{"AddRight", &add, false},
                                           Sides{"SubtractLeft", &subtract, true},
                                           Sides{"SubtractRight", &subtract, false}),
                         [](const auto& instance) { return instance.param.name; });

TEST_F(BackwardTest, SecondPassThroughAFreedGraphIsAnError) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor y = square(context, w);
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kGraphFreed);
}

TEST_F(BackwardTest, SavedValuesAreFreedOnceTheirNodeHasRun) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor h = scale(context, w, 1.0);
  const Tensor y = square(context, h);
  h.release();
  const std::int64_t held = live_bytes();
  backward(context, {y}, {data({1, 1})});
  EXPECT_EQ(live_bytes(), held);  // w.grad came, h went: both two elements
  ASSERT_TRUE(w.grad().defined());
}

TEST_F(BackwardTest, LongChainsAreBuiltAndDestroyedWithoutRecursion) {
  constexpr int kLength = 200000;  // far above what a stack of 8 MiB could recurse through
  const Tensor w = parameter("w", {1});
  Tensor y = w;
  for (int i = 0; i < kLength; ++i) y = scale(context, y, 1.0);
  backward(context, {y}, {Tensor()});
  y = Tensor();
  EXPECT_EQ(values_of(w.grad()), (Floats{1}));
}

TEST_F(BackwardTest, ReadyNodesRunFirstInFirstOut) {
  const Tensor w = parameter("w", {1});
  std::string order;
  const auto named = [&](const char* name, const Tensor& input) {
    return call(
        context, copy_inputs,
        [&order, name](FunctionContext&, const Tensors& grads) {
          order += name;
          return grads;
        },
        {input})[0];
  };
  const Tensor left = named("b", named("d", w));
  const Tensor right = named("c", named("e", w));
  backward(context, {add(context, left, right)}, {Tensor()});
  EXPECT_EQ(order, "bcde");
}

}  // namespace
}  // namespace culprit::test
