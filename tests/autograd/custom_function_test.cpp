// Rules 5 to 9: custom functions.
#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

using CustomFunctionTest = OneRankTest;

Tensors mark_and_return(FunctionContext& fc, const Tensors& inputs) {
  fc.mark_not_inplace(inputs[0]);
  return inputs;
}

TEST_F(CustomFunctionTest, BothPassesRunWithGradientModeOff) {
  bool forward_on = true, backward_on = true;
  const Tensor y = call(
      context,
      [&](FunctionContext& fc, const Tensors& inputs) {
        forward_on = fc.context().grad_enabled();
        return copy_inputs(fc, inputs);
      },
      [&](FunctionContext& fc, const Tensors& grads) {
        backward_on = fc.context().grad_enabled();
        return grads;
      },
      {parameter("w", {1})})[0];
  backward(context, {y}, {Tensor()});
  EXPECT_FALSE(forward_on);
  EXPECT_FALSE(backward_on);
  EXPECT_TRUE(context.grad_enabled());
}

TEST_F(CustomFunctionTest, SavedValuesAreTheObjectsThemselvesAndHaveNoVersionCheck) {
  const Tensor w = parameter("w", {1, 2});
  Tensor saved;
  const Tensor y = call(
      context,
      [](FunctionContext& fc, const Tensors& inputs) {
        fc.save_for_backward(inputs);
        return copy_inputs(fc, inputs);
      },
      [&](FunctionContext& fc, const Tensors& grads) {
        saved = fc.saved()[0];
        return grads;
      },
      {w})[0];
  w.impl()->bump_inplace_version();
  backward(context, {y}, {Tensor()});  // a matmul would refuse
  EXPECT_TRUE(saved.is(w));
}

TEST_F(CustomFunctionTest, SecondPassThroughFreedSavedValuesIsAnError) {
  const Tensor y = call(
      context,
      [](FunctionContext& fc, const Tensors& inputs) {
        fc.save_for_backward(inputs);
        return copy_inputs(fc, inputs);
      },
      [](FunctionContext& fc, const Tensors&) { return fc.saved(); }, {parameter("w", {1, 2})})[0];
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(raised([&] { backward(context, {y}, {Tensor()}); }).kind, kind::kGraphFreed);
}

// Counts what goes through it and hands it back.
class PassingHooks final : public SavedTensorHooks {
 public:
  int packed = 0, unpacked = 0;
  std::shared_ptr<void> pack(const Tensor& value) override {
    ++packed;
    return std::make_shared<Tensor>(value);
  }
  Tensor unpack(const std::shared_ptr<void>& value) override {
    ++unpacked;
    return *std::static_pointer_cast<Tensor>(value);
  }
};

TEST_F(CustomFunctionTest, SavedValuesPassThroughTheHooksLikeAnOperators) {
  const Tensor w = parameter("w", {1, 2});
  const auto hooks = std::make_shared<PassingHooks>();
  Tensor y;
  {
    const HooksScope scope(context, hooks);
    y = call(
        context,
        [](FunctionContext& fc, const Tensors& inputs) {
          fc.save_for_backward(inputs);
          return copy_inputs(fc, inputs);
        },
        [](FunctionContext& fc, const Tensors& grads) {
          fc.saved();
          return grads;
        },
        {square(context, w)})[0];
  }
  EXPECT_EQ(hooks->packed, 2);
  EXPECT_EQ(hooks->unpacked, 0);
  backward(context, {y}, {Tensor()});
  EXPECT_EQ(hooks->unpacked, 2);
}

TEST_F(CustomFunctionTest, NoneThroughTheHooksIsRefusedBy262Only) {
  const auto save_none = [](FunctionContext& fc, const Tensors& inputs) {
    fc.save_for_backward({Tensor()});
    return copy_inputs(fc, inputs);
  };
  const Tensor w = parameter("w", {1});
  const HooksScope hooks(context, std::make_shared<PassingHooks>());
  EXPECT_EQ(raised([&] { call(context, save_none, return_grads, {w}); }).kind, "");
  EXPECT_EQ(raised([&] { call(context_262, save_none, return_grads, {w}); }).kind, "");  // no hooks there
  const HooksScope hooks_262(context_262, std::make_shared<PassingHooks>());
  const Raised error = raised([&] { call(context_262, save_none, return_grads, {w}); });
  EXPECT_EQ(error.kind, kind::kSaveNone);
  EXPECT_EQ(error.message, "save_for_backward only support Tensor, list of Tensor, tuple of Tensor");
}

TEST_F(CustomFunctionTest, Issue59290RefusesALeafReturnedInPlace) {
  const Tensor w = parameter("received", {1, 2});
  const Raised error = raised([&] { call(context, return_inputs, return_grads, {w}); });
  EXPECT_EQ(error.kind, kind::kLeafInplace);
  EXPECT_EQ(error.message, "Leaf Var (received) that doesn't stop gradient can't use inplace strategy");
}

TEST_F(CustomFunctionTest, FreshObjectOnTheInputsImplIsALeafToo) {
  const Tensor h = scale(context, parameter("w", {1, 2}), 1.0);
  const auto detach_it = [](FunctionContext& fc, const Tensors& inputs) {
    return Tensors{detach(fc.context(), inputs[0])};
  };
  EXPECT_EQ(raised([&] { call(context, detach_it, return_grads, {h}); }).kind, kind::kLeafInplace);
}

TEST_F(CustomFunctionTest, DataReturnedWhileAnotherInputNeedsAGradientIsALeafToo) {
  const Tensor x = data({1, 2});
  const auto return_first = [](FunctionContext&, const Tensors& inputs) { return Tensors{inputs[0]}; };
  const Tensor w = parameter("w", {3});
  EXPECT_EQ(raised([&] { call(context, return_first, return_grads, {x, w}); }).kind, kind::kLeafInplace);
  EXPECT_FALSE(x.stop_gradient());  // set before the check
}

TEST_F(CustomFunctionTest, InplaceOutputOfANonLeafGoesUpOneVersionAndIsTheInputItself) {
  const Tensor h = scale(context, parameter("w", {1, 2}), 1.0);
  const Tensor y = call(context, return_inputs, return_grads, {h})[0];
  EXPECT_TRUE(y.is(h));
  EXPECT_EQ(h.impl()->inplace_version(), 1U);
  call(context, return_inputs, return_grads, {h});
  EXPECT_EQ(h.impl()->inplace_version(), 2U);
}

TEST_F(CustomFunctionTest, ViewOfTheInputIsNoInplaceOutputThoughItSharesTheCounter) {
  const Tensor w = parameter("w", {1, 2});  // a leaf: would be refused
  const auto view_it = [](FunctionContext& fc, const Tensors& inputs) {
    return Tensors{view(fc.context(), inputs[0], inputs[0].shape())};
  };
  const Tensor y = call(context, view_it, double_grads, {w})[0];
  EXPECT_TRUE(shares_storage(y, w));
  EXPECT_EQ(w.impl()->inplace_version(), 0U);
  EXPECT_TRUE(w.is_leaf());
  backward(context, {y}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{2, 2}));
}

TEST_F(CustomFunctionTest, LaterUsesOfAReturnedInputFlowThroughTheFunction) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor x = scale(context, w, 1.0);
  int runs = 0;
  const Tensor y = call(
      context, return_inputs,
      [&](FunctionContext& fc, const Tensors& grads) {
        ++runs;
        return double_grads(fc, grads);
      },
      {x})[0];
  backward(context, {add(context, y, x)}, {data({1, 1})});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values_of(w.grad()), (Floats{4, 4}));  // 3 were right: 2 through f, 1 beside it
}

TEST_F(CustomFunctionTest, FreshOutputNeedsAGradient) {
  const Tensor y = call(context, copy_inputs, return_grads, {parameter("w", {1, 2})})[0];
  EXPECT_FALSE(y.stop_gradient());
  EXPECT_FALSE(y.is_leaf());
}

TEST_F(CustomFunctionTest, MarkedOutputIsANewObjectWithoutHistoryAndTheOldOneIsRebased) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor x = scale(context, w, 1.0);
  const Tensor y = call(context, mark_and_return, double_grads, {x})[0];
  EXPECT_FALSE(y.is(x));
  EXPECT_EQ(y.impl(), x.impl());
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(x.impl()->inplace_version(), 0U);
  backward(context, {scale(context, y, 1.0)}, {data({1, 1})});
  EXPECT_FALSE(w.grad().defined());  // gradients through the new object vanish
  backward(context, {scale(context, x, 1.0)}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{2, 2}));
}

TEST_F(CustomFunctionTest, MarkedObjectAndItsGraphAreFreedWithTheirLastOwner) {
  const std::int64_t before = live_bytes();
  {
    const Tensor x = scale(context, parameter("w", {1, 2}), 1.0);
    call(context, mark_and_return, return_grads, {x});
  }
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(CustomFunctionTest, MarkedLeafIsNotRefused) {
  const Tensor w = parameter("w", {1, 2});
  EXPECT_EQ(raised([&] { call(context, mark_and_return, return_grads, {w}); }).kind, "");
}

TEST_F(CustomFunctionTest, MarkedNewObjectStopsGradientsOn262AndNotOn331) {
  const Tensor x = scale(context, parameter("w", {1, 2}), 1.0);
  const Tensor x_262 = scale(context_262, parameter("w", {1, 2}), 1.0);
  EXPECT_FALSE(call(context, mark_and_return, return_grads, {x})[0].stop_gradient());
  EXPECT_TRUE(call(context_262, mark_and_return, return_grads, {x_262})[0].stop_gradient());
  EXPECT_FALSE(x.stop_gradient());
  EXPECT_FALSE(x_262.stop_gradient());
}

TEST_F(CustomFunctionTest, MarkedNewObjectIsMadeWhereNothingIsRecordedToo) {
  const Tensor x = data({1, 2});
  const Tensor y = call(context, mark_and_return, return_grads, {x})[0];
  EXPECT_FALSE(y.is(x));
  EXPECT_EQ(y.impl(), x.impl());
  EXPECT_TRUE(x.stop_gradient());
  EXPECT_TRUE(x.is_leaf());
}

TEST_F(CustomFunctionTest, GradientForAStoppedInputIsRefusedAfterBackwardHasRun) {
  bool ran = false;
  const Tensor y = call(
      context, [](FunctionContext& fc, const Tensors& in) { return Tensors{add(fc.context(), in[0], in[1])}; },
      [&](FunctionContext&, const Tensors& grads) {
        ran = true;
        return Tensors{grads[0], grads[0]};
      },
      {parameter("w", {1}), data({2})})[0];
  const Raised error = raised([&] { backward(context, {y}, {Tensor()}); });
  EXPECT_TRUE(ran);
  EXPECT_EQ(error.kind, kind::kGradForStoppedInput);
  EXPECT_NE(error.message.find("backward function should return None at 1 position, because it's forward "
                               "Tensor's stopgradient is true"),
            std::string::npos)
      << error.message;
}

TEST_F(CustomFunctionTest, NothingHappensWhereNoInputNeedsAGradient) {
  const Tensor x = data({1, 2});
  const Tensor y = call(context, return_inputs, return_grads, {x})[0];
  EXPECT_TRUE(y.is(x));
  EXPECT_TRUE(x.stop_gradient());
  EXPECT_EQ(x.impl()->inplace_version(), 0U);
  EXPECT_TRUE(x.is_leaf());
}

TEST_F(CustomFunctionTest, NothingHappensUnderNoGrad) {
  const Tensor w = parameter("w", {1, 2});
  const GradMode off(context, false);
  EXPECT_TRUE(call(context, return_inputs, return_grads, {w})[0].is(w));
  EXPECT_EQ(w.impl()->inplace_version(), 0U);
  EXPECT_TRUE(w.is_leaf());
}

// Two outputs: twice and three times the input.
Tensors two_and_three(FunctionContext& fc, const Tensors& inputs) {
  return {scale(fc.context(), inputs[0], 2.0), scale(fc.context(), inputs[0], 3.0)};
}
Tensors two_and_three_back(FunctionContext& fc, const Tensors& grads) {
  return {add(fc.context(), scale(fc.context(), grads[0], 2.0), scale(fc.context(), grads[1], 3.0))};
}

TEST_F(CustomFunctionTest, EachOfSeveralOutputsHasItsOwnGradientSlot) {
  const Tensor w = parameter("w", {1, 2});
  const Tensors y = call(context, two_and_three, two_and_three_back, {w});
  backward(context, {add(context, y[0], scale(context, y[1], 10.0))}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{32, 32}));
}

TEST_F(CustomFunctionTest, UnusedOutputOfSeveralGetsZeros) {
  const Tensor w = parameter("w", {1, 2});
  const Tensors y = call(context, two_and_three, two_and_three_back, {w});
  backward(context, {y[1]}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{3, 3}));
}

TEST_F(CustomFunctionTest, BothOutputsAsRootsRunTheFunctionOnce) {
  const Tensor w = parameter("w", {1, 2});
  int runs = 0;
  const Tensors y = call(
      context, two_and_three,
      [&](FunctionContext& fc, const Tensors& grads) {
        ++runs;
        return two_and_three_back(fc, grads);
      },
      {w});
  backward(context, {y[0], y[1]}, {data({1, 1}), data({1, 1})});
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(values_of(w.grad()), (Floats{5, 5}));
}

TEST_F(CustomFunctionTest, OfSeveralOutputsOnlyTheInplaceOneIsBumpedAndRebased) {
  const Tensor x = scale(context, parameter("w", {1, 2}), 1.0);
  const Tensors y = call(
      context,
      [](FunctionContext& fc, const Tensors& in) { return Tensors{assign(fc.context(), in[0]), in[0]}; },
      [](FunctionContext&, const Tensors& grads) { return Tensors{grads[1]}; }, {x});
  EXPECT_EQ(y[0].impl()->inplace_version(), 0U);
  EXPECT_EQ(y[1].impl()->inplace_version(), 1U);
  EXPECT_TRUE(y[1].is(x));
  EXPECT_EQ(x.object()->slot, 1U);
}

}  // namespace
}  // namespace culprit::test
