// Rules 14 and 15: both kinds of recomputation, alone and nested.
#include "recompute/recompute.hpp"

#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

class RecomputeTest : public OneRankTest {
 protected:
  // y = (a w)^2, counted.
  Block counted_block(const Tensor& w, int& runs) {
    return [this, w, &runs](const Tensors& inputs) {
      ++runs;
      return square(context, matmul(context, inputs[0], w));
    };
  }
  Tensor weight() { return tensor({2, 2}, {1, -2, 0.5F, 3}, "w", /*stop_gradient=*/false); }
};

TEST_F(RecomputeTest, EachKindRunsTheBlockAsOftenAsItShould) {
  for (const auto& [kind, after_forward, after_backward] :
       {std::tuple{RecomputeKind::kNone, 1, 1}, std::tuple{RecomputeKind::kReentrant, 1, 2},
        std::tuple{RecomputeKind::kNonReentrant, 1, 2}}) {
    int runs = 0;
    const Tensor y = recompute(context, kind, counted_block(weight(), runs), {parameter("x", {1, 2})});
    EXPECT_EQ(runs, after_forward);
    backward(context, {y}, {Tensor()});
    EXPECT_EQ(runs, after_backward) << "several saved values, one second run";
  }
}

TEST_F(RecomputeTest, GradientsAreThoseWithoutRecompute) {
  std::vector<Floats> grads;
  for (const auto kind : {RecomputeKind::kNone, RecomputeKind::kReentrant, RecomputeKind::kNonReentrant}) {
    int runs = 0;
    const Tensor w = weight(), x = parameter("x", {1, 2});
    backward(context, {recompute(context, kind, counted_block(w, runs), {x})}, {Tensor()});
    grads.push_back(values_of(w.grad()));
    const Floats of_x = values_of(x.grad());
    grads.back().insert(grads.back().end(), of_x.begin(), of_x.end());
  }
  EXPECT_EQ(grads[1], grads[0]);
  EXPECT_EQ(grads[2], grads[0]);
}

TEST_F(RecomputeTest, BothKindsHoldLessMemoryBetweenThePasses) {
  std::vector<std::int64_t> held;
  for (const auto kind : {RecomputeKind::kNone, RecomputeKind::kReentrant, RecomputeKind::kNonReentrant}) {
    const std::int64_t before = live_bytes();
    int runs = 0;
    const Tensor y = recompute(context, kind, counted_block(weight(), runs), {parameter("x", {1, 2})});
    held.push_back(live_bytes() - before);
  }
  EXPECT_EQ(held[0], 4 * (4 + 2 + 2 + 2));  // w, x, the product that the square saved, y
  EXPECT_EQ(held[1], 4 * (4 + 2 + 2));
  EXPECT_EQ(held[2], 4 * (4 + 2 + 2));
}

TEST_F(RecomputeTest, ReentrantRunsFirstWithoutGradientsThenOnDetachedInputs) {
  const Tensor x = scale(context, parameter("x", {1, 2}), 1.0);
  std::vector<bool> modes;
  Tensors seen;
  std::vector<bool> leaves;
  std::vector<int> depths;
  const Block block = [&](const Tensors& inputs) {
    modes.push_back(context.grad_enabled());
    seen.push_back(inputs[0]);
    leaves.push_back(inputs[0].is_leaf());
    depths.push_back(context.replay_depth());
    return square(context, inputs[0]);
  };
  backward(context, {recompute(context, RecomputeKind::kReentrant, block, {x})}, {Tensor()});
  EXPECT_EQ(modes, (std::vector<bool>{false, true}));
  EXPECT_EQ(leaves, (std::vector<bool>{false, true}));
  EXPECT_EQ(depths, (std::vector<int>{0, 1}));
  EXPECT_EQ(context.replay_depth(), 0);
  EXPECT_TRUE(seen[0].is(x));
  EXPECT_FALSE(seen[1].is(x));
  EXPECT_EQ(seen[1].impl(), x.impl());
  EXPECT_FALSE(seen[1].stop_gradient());
}

TEST_F(RecomputeTest, ReentrantKeepsStopGradientOfEachInput) {
  const Tensor x = parameter("x", {1, 2}), side = data({3, 4});
  Tensors second;
  const Block block = [&](const Tensors& inputs) {
    second = inputs;
    return add(context, inputs[0], inputs[1]);
  };
  const Tensor y = recompute(context, RecomputeKind::kReentrant, block, {x, side});
  backward(context, {y}, {Tensor()});
  EXPECT_FALSE(second[0].stop_gradient());
  EXPECT_TRUE(second[1].stop_gradient());
  EXPECT_EQ(values_of(x.grad()), (Floats{1, 1}));
}

TEST_F(RecomputeTest, ReentrantBlockWithoutAnInputThatNeedsAGradientLeavesParametersWithout) {
  const Tensor w = weight();
  int runs = 0;
  const Tensor y = recompute(context, RecomputeKind::kReentrant, counted_block(w, runs), {data({1, 2})});
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(w.grad().defined());
}

TEST_F(RecomputeTest, NonReentrantBlockGivesParametersTheirGradientsWhateverItsInputNeeds) {
  const Tensor w = weight();
  int runs = 0;
  const Tensor y = recompute(context, RecomputeKind::kNonReentrant, counted_block(w, runs), {data({1, 2})});
  backward(context, {y}, {Tensor()});
  ASSERT_TRUE(w.grad().defined());
}

TEST_F(RecomputeTest, ReentrantBlockWhoseSecondRunStopsGradientsIsAnError) {
  const Block block = [&](const Tensors& inputs) {
    const GradMode off(context, false);
    return scale(context, inputs[0], 2.0);
  };
  const Tensor y = recompute(context, RecomputeKind::kReentrant, block, {parameter("x", {1, 2})});
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kNoGradNeeded);
}

TEST_F(RecomputeTest, Issue59290ReentrantSecondRunRefusesTheDetachedInput) {
  const Tensor x = scale(context, parameter("w", {1, 2}), 1.0);
  const Block block = [&](const Tensors& inputs) {
    return square(context, call(context, return_inputs, return_grads, inputs)[0]);
  };
  const Tensor y = recompute(context, RecomputeKind::kReentrant, block, {x});
  EXPECT_EQ(x.impl()->inplace_version(), 0U);  // no version moves without gradients
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kLeafInplace);
  EXPECT_EQ(context.replay_depth(), 1);  // says that the second run raised it
}

TEST_F(RecomputeTest, NonReentrantRunsTwiceOnTheCallersOwnObjects) {
  const Tensor x = scale(context, parameter("x", {1, 2}), 1.0);
  std::vector<bool> own, modes;
  const Block block = [&](const Tensors& inputs) {
    own.push_back(inputs[0].is(x));
    modes.push_back(context.grad_enabled());
    return square(context, inputs[0]);
  };
  backward(context, {recompute(context, RecomputeKind::kNonReentrant, block, {x})}, {Tensor()});
  EXPECT_EQ(own, (std::vector<bool>{true, true}));
  EXPECT_EQ(modes, (std::vector<bool>{true, true}));
}

TEST_F(RecomputeTest, NonReentrantBlockThatSavesNothingNeverRunsTwice) {
  int runs = 0;
  const Block block = [&](const Tensors& inputs) {
    ++runs;
    return scale(context, add(context, inputs[0], inputs[0]), 3.0);
  };
  const Tensor x = parameter("x", {1, 2});
  backward(context, {recompute(context, RecomputeKind::kNonReentrant, block, {x})}, {Tensor()});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values_of(x.grad()), (Floats{6, 6}));
}

TEST_F(RecomputeTest, NonReentrantSecondRunBumpsAndRebasesAgain) {
  const Tensor x = scale(context, parameter("x", {1, 2}), 1.0);
  const Block block = [&](const Tensors& inputs) {
    return square(context, call(context, return_inputs, return_grads, inputs)[0]);
  };
  const Tensor y = recompute(context, RecomputeKind::kNonReentrant, block, {x});
  EXPECT_EQ(x.impl()->inplace_version(), 1U);
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(x.impl()->inplace_version(), 2U);
}

TEST_F(RecomputeTest, NonReentrantChecksNoVersionAndReadsWhatTheMemoryHolds) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor x = scale(context, w, 1.0);
  Tensor inside;
  const Block block = [&](const Tensors& inputs) {
    inside = inputs[0];
    return add(context, square(context, inputs[0]), square(context, inputs[0]));
  };
  const Tensor y = recompute(context, RecomputeKind::kNonReentrant, block, {x});
  backend->fill(10.0F, x.impl()->data(), 2);
  x.impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, "");
  EXPECT_EQ(values_of(w.grad()), (Floats{40, 40}));
}

TEST_F(RecomputeTest, NonReentrantSecondRunThatSavesLessIsAnError) {
  int runs = 0;
  const Tensor x = parameter("x", {1, 2});
  const Block block = [&](const Tensors& inputs) {
    return ++runs == 1 ? square(context, inputs[0]) : scale(context, inputs[0], 1.0);
  };
  const Tensor y = recompute(context, RecomputeKind::kNonReentrant, block, {x});
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kReplayMismatch);
}

struct Nesting {
  const char* name;
  RecomputeKind outer, inner;
  int inner_runs;
};
class NestedRecomputeTest : public RecomputeTest {
 protected:
  // y = (x w)^2 w, the square's block inside a block of its own; gradients of w and x.
  Floats gradients(const Nesting& nesting, int& inner_runs) {
    const Tensor w = weight(), x = parameter("x", {1, 2});
    const Block inner = counted_block(w, inner_runs);
    const Block outer = [&](const Tensors& inputs) {
      return matmul(context, recompute(context, nesting.inner, inner, inputs), w);
    };
    backward(context, {recompute(context, nesting.outer, outer, {x})}, {Tensor()});
    Floats all = values_of(w.grad());
    if (!x.grad().defined()) return all;
    for (const float g : values_of(x.grad())) all.push_back(g);
    return all;
  }
};
class NestedKindsTest : public NestedRecomputeTest, public ::testing::WithParamInterface<Nesting> {};

TEST_P(NestedKindsTest, GivesTheSameGradientsAndRunsTheInnerBlockAsOftenAsNeeded) {
  int plain_runs = 0, runs = 0;
  const Floats plain = gradients({"", RecomputeKind::kNone, RecomputeKind::kNone, 1}, plain_runs);
  EXPECT_EQ(gradients(GetParam(), runs), plain);
  EXPECT_EQ(plain_runs, 1);
  EXPECT_EQ(runs, GetParam().inner_runs);
}

// Forward once; the outer second run once more; the inner block's own second run once more.
constexpr auto kNone = RecomputeKind::kNone;
constexpr auto kReentrant = RecomputeKind::kReentrant;
constexpr auto kNonReentrant = RecomputeKind::kNonReentrant;
INSTANTIATE_TEST_SUITE_P(All, NestedKindsTest,
                         ::testing::Values(Nesting{"NoneReentrant", kNone, kReentrant, 2},
                                           Nesting{"NoneNonReentrant", kNone, kNonReentrant, 2},
                                           Nesting{"ReentrantNone", kReentrant, kNone, 2},
                                           Nesting{"ReentrantReentrant", kReentrant, kReentrant, 3},
                                           Nesting{"ReentrantNonReentrant", kReentrant, kNonReentrant, 3},
                                           Nesting{"NonReentrantNone", kNonReentrant, kNone, 2}),
                         [](const auto& instance) { return instance.param.name; });

// What the second run supplies is a fresh object on the saved memory, and a fresh object stops gradients
// (measured on 3.3.1): the inner reentrant block takes its input's stop_gradient from it.
TEST_F(NestedRecomputeTest, ReentrantInsideNonReentrantSilentlyLosesTheInputsGradient) {
  int plain_runs = 0, runs = 0;
  Floats plain = gradients({"", kNone, kNone, 1}, plain_runs);
  plain.resize(4);  // w's alone
  EXPECT_EQ(gradients({"", kNonReentrant, kReentrant, 3}, runs), plain);
  EXPECT_EQ(runs, 3);
}

TEST_F(NestedRecomputeTest, NonReentrantInsideNonReentrantIsRefusedInTheForward) {
  int runs = 0;
  const Raised error = raised([&] { gradients({"", kNonReentrant, kNonReentrant, 0}, runs); });
  EXPECT_EQ(error.kind, kind::kHooksTaken);
  EXPECT_NE(error.message.find("only one pair of hooks is allowed at a time"), std::string::npos) << error.message;
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace culprit::test
