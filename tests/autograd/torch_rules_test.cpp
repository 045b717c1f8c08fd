// Rules 21 to 30: what PyTorch does otherwise.
#include <string>

#include "autograd/node.hpp"
#include "base/error.hpp"
#include "recompute/recompute.hpp"
#include "support/one_rank.hpp"

namespace culprit::test {
namespace {

class TorchRulesTest : public OneRankTest {
 protected:
  Context torch{*backend, rules_of("torch@2.15.0")};

  Tensor non_leaf(const Tensor& w) { return scale(torch, w, 1.0); }
};

Tensors mark_dirty(FunctionContext& fc, const Tensors& inputs) {
  fc.mark_dirty(inputs[0]);
  return inputs;
}
Tensors mark_non_differentiable(FunctionContext& fc, const Tensors& inputs) {
  fc.mark_non_differentiable(inputs[0]);
  return inputs;
}

TEST_F(TorchRulesTest, Rule21InputReturnedAsIsIsANewHandleAndStaysWhatItWas) {
  const Tensor w = parameter("w", {1, 2});  // a leaf: PaddlePaddle refuses it
  const Tensor y = call(torch, return_inputs, double_grads, {w})[0];
  EXPECT_FALSE(y.is(w));
  EXPECT_TRUE(shares_storage(y, w));
  EXPECT_TRUE(y.object()->is_view);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_EQ(w.impl()->inplace_version(), 0U);
  backward(torch, {add(torch, y, w)}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{3, 3}));  // PaddlePaddle gives 4
}

TEST_F(TorchRulesTest, Rule21UnrecordedItIsANewHandleToo) {
  const Tensor x = data({1, 2});
  const Tensor y = call(torch, return_inputs, return_grads, {x})[0];
  EXPECT_FALSE(y.is(x));
  EXPECT_TRUE(y.object()->is_view);
  const GradMode off(torch, false);
  const Tensor z = call(torch, return_inputs, return_grads, {parameter("w", {1, 2})})[0];
  EXPECT_TRUE(z.stop_gradient());
  EXPECT_FALSE(z.object()->is_view);  // detached
}

TEST_F(TorchRulesTest, Rule21NewObjectOnTheInputsMemoryIsNoInplaceOutput) {
  const auto detach_it = [](FunctionContext& fc, const Tensors& in) {
    return Tensors{detach(fc.context(), in[0])};
  };
  const Tensor w = parameter("w", {1, 2});
  const Tensor y = call(torch, detach_it, double_grads, {w})[0];
  backward(torch, {y}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{2, 2}));
}

TEST_F(TorchRulesTest, Rule21ReshapeToTheSameShapeIsAView) {
  const Tensor w = parameter("w", {1, 2});
  EXPECT_TRUE(reshape(context, w, w.shape()).is(w));
  const Tensor y = reshape(torch, w, w.shape());
  EXPECT_FALSE(y.is(w));
  EXPECT_TRUE(y.object()->is_view);
}

TEST_F(TorchRulesTest, Rule21EdgesAreTakenBeforeForward) {
  const Tensor view =
      call(torch, return_inputs, return_grads, {non_leaf(parameter("w", {1, 2}))})[0];
  const auto change_then_copy = [](FunctionContext& fc, const Tensors& in) {
    in[0].impl()->bump_inplace_version();
    return copy_inputs(fc, in);
  };
  EXPECT_EQ(raised([&] { call(torch, change_then_copy, return_grads, {view}); }).kind, "");
  EXPECT_EQ(raised([&] { call(torch, copy_inputs, return_grads, {view}); }).kind,
            kind::kViewInplace);
}

TEST_F(TorchRulesTest, Rule22DirtyLeafIsRefused) {
  const Raised error = raised([&] {
    call(torch, mark_dirty, return_grads, {parameter("w", {1, 2})});
  });
  EXPECT_EQ(error.kind, kind::kLeafInplace);
  EXPECT_EQ(error.message,
            "a leaf Variable that requires grad has been used in an in-place operation.");
}

TEST_F(TorchRulesTest, Rule22DirtyInputIsReturnedItselfAndRebased) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor x = non_leaf(w);
  const Tensor y = call(torch, mark_dirty, double_grads, {x})[0];
  EXPECT_TRUE(y.is(x));
  EXPECT_EQ(x.impl()->inplace_version(), 1U);
  backward(torch, {add(torch, y, x)}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{4, 4}));
}

TEST_F(TorchRulesTest, Rule22DirtyDataCountsThoughNothingIsRecorded) {
  const Tensor x = data({1, 2});
  EXPECT_TRUE(call(torch, mark_dirty, return_grads, {x})[0].is(x));
  EXPECT_EQ(x.impl()->inplace_version(), 1U);
  const GradMode off(torch, false);
  const Tensor h = parameter("w", {1, 2});
  EXPECT_FALSE(call(torch, mark_dirty, return_grads, {h})[0].is(h));
  EXPECT_EQ(h.impl()->inplace_version(), 1U);
}

TEST_F(TorchRulesTest, Rule22ViewThatAFunctionGaveOutCannotBeDirty) {
  const Tensor view =
      call(torch, return_inputs, return_grads, {non_leaf(parameter("w", {1, 2}))})[0];
  const Raised error = raised([&] { call(torch, mark_dirty, return_grads, {view}); });
  EXPECT_EQ(error.kind, kind::kViewInplace);
  EXPECT_NE(error.message.find("Output 0 of lambda is a view and is being modified inplace"),
            std::string::npos);
}

TEST_F(TorchRulesTest, Rule22HistoryOfAViewIsLostWithAnUnrecordedChange) {
  const Tensor view =
      call(torch, return_inputs, return_grads, {non_leaf(parameter("w", {1, 2}))})[0];
  {
    const GradMode off(torch, false);
    EXPECT_EQ(raised([&] { call(torch, mark_dirty, return_grads, {view}); }).kind, "");
  }
  EXPECT_EQ(raised([&] { scale(torch, view, 1.0); }).kind, kind::kViewInplace);
}

TEST_F(TorchRulesTest, Rule22RecordedChangeOfTheBaseLosesTheHistoryToo) {
  const Tensor base = non_leaf(parameter("w", {1, 2}));
  const Tensor view = call(torch, return_inputs, return_grads, {base})[0];
  EXPECT_EQ(raised([&] { call(torch, mark_dirty, return_grads, {base}); }).kind, "");
  EXPECT_EQ(raised([&] { scale(torch, view, 1.0); }).kind, kind::kViewInplace);
}

TEST_F(TorchRulesTest, Rule22StaleViewThatAnOperatorSavedIsMetBeforeItsVersion) {
  const Tensor base = non_leaf(parameter("w", {2}));
  const Tensor stale = call(torch, return_inputs, return_grads, {base})[0];
  const Tensor squared = square(torch, stale), product = matmul(torch, stale, parameter("v", {3}));
  // A view that an operator made is checked by its version alone, and a scale saves nothing that is checked.
  const Tensor other = square(torch, view(torch, base, {1, 1})), scaled = scale(torch, stale, 2.0);
  base.impl()->bump_inplace_version();
  const auto kind_of = [&](const Tensor& root) { return raised([&] { backward(torch, {root}, {data({1})}); }).kind; };
  EXPECT_EQ(kind_of(squared), kind::kViewInplace);
  EXPECT_EQ(kind_of(product), kind::kViewInplace);
  EXPECT_EQ(kind_of(other), kind::kInplaceVersion);
  EXPECT_EQ(kind_of(scaled), "");
}

TEST_F(TorchRulesTest, Rule22StaleViewCannotBeARoot) {
  const Tensor base = non_leaf(parameter("w", {1, 2}));
  const Tensor stale = call(torch, return_inputs, return_grads, {base})[0];
  EXPECT_EQ(raised([&] { backward(torch, {stale}, {data({1, 1})}); }).kind, "");
  base.impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(torch, {stale}, {data({1, 1})}); }).kind, kind::kViewInplace);
  // Root by root.
  const Tensor stopped = data({1, 1});
  EXPECT_EQ(raised([&] { backward(torch, {stale, stopped}, {stopped, stopped}); }).kind, kind::kViewInplace);
  EXPECT_EQ(raised([&] { backward(torch, {stopped, stale}, {stopped, stopped}); }).kind, kind::kNoGradFn);
}

TEST_F(TorchRulesTest, Rule22DirtyViewOfAnOperatorIsRefusedByName) {
  const Tensor x = view(torch, non_leaf(parameter("w", {1, 2})), {2, 1});
  EXPECT_THROW(call(torch, mark_dirty, return_grads, {x}), UsageError);
}

TEST_F(TorchRulesTest, Rule23NonDifferentiableOutputHasNoHistoryAndTheInputKeepsIts) {
  const Tensor w = parameter("w", {1, 2});
  const Tensor x = non_leaf(w);
  const Tensor y = call(torch, mark_non_differentiable, return_grads, {x})[0];
  EXPECT_TRUE(y.stop_gradient());
  EXPECT_FALSE(y.is(x));
  EXPECT_TRUE(shares_storage(y, x));
  backward(torch, {add(torch, y, x)}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{1, 1}));
}

TEST_F(TorchRulesTest, Rule24GradientForAnInputThatNeedsNoneIsDropped) {
  const Tensor x = data({1, 2}), w = parameter("w", {3, 4});
  const Tensor y = call(
      torch,
      [](FunctionContext& fc, const Tensors& in) {
        return Tensors{add(fc.context(), in[0], in[1])};
      },
      [](FunctionContext&, const Tensors& grads) {
        return Tensors{grads[0], grads[0]};
      },
      {x, w})[0];
  EXPECT_EQ(raised([&] { backward(torch, {y}, {data({1, 1})}); }).kind, "");
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(values_of(w.grad()), (Floats{1, 1}));
}

TEST_F(TorchRulesTest, Rule25OperatorsPassNoneOnAndFunctionsGetZeros) {
  const Tensor w = parameter("w", {1, 2});
  backward(torch, {call(torch, copy_inputs, give_none, {scale(torch, square(torch, w), 2.0)})[0]},
           {data({1, 1})});
  EXPECT_FALSE(w.grad().defined());  // PaddlePaddle crashes in the scale
  const Tensor v = parameter("v", {1, 2});
  backward(
      torch,
      {call(torch, copy_inputs, give_none, {call(torch, copy_inputs, return_grads, {v})[0]})[0]},
      {data({1, 1})});
  EXPECT_EQ(values_of(v.grad()), (Floats{0, 0}));
}

TEST_F(TorchRulesTest, Rule25WhatWasSavedIsLookedAtAllTheSame) {
  const auto through_none = [&](const Tensor& y) {
    const Tensor seed = y.shape().num_elements() == 1 ? data({1}) : data({1, 1});
    return raised([&] { backward(torch, {call(torch, copy_inputs, give_none, {y})[0]}, {seed}); })
        .kind;
  };
  const Tensor x = non_leaf(parameter("w", {1, 2}));
  const Tensor y = square(torch, x);
  x.impl()->bump_inplace_version();
  EXPECT_EQ(through_none(y), kind::kInplaceVersion);
  const Tensor b = data({3}), z = matmul(torch, non_leaf(parameter("v", {2})), b);
  b.impl()->bump_inplace_version();
  EXPECT_EQ(through_none(z), kind::kInplaceVersion);
  const Tensor twice = scale(torch, parameter("u", {1, 2}), 2.0);
  EXPECT_EQ(through_none(twice), "");
  EXPECT_EQ(through_none(twice), kind::kGraphFreed);
}

TEST_F(TorchRulesTest, Rule26RootThatNeedsNoGradientIsAnError) {
  EXPECT_EQ(raised([&] { backward(context, {data({1})}, {Tensor()}); }).kind, "");
  const Raised error = raised([&] { backward(torch, {data({1})}, {Tensor()}); });
  EXPECT_EQ(error.kind, kind::kNoGradFn);
  EXPECT_EQ(error.message,
            "element 0 of tensors does not require grad and does not have a grad_fn");
  const Tensor fine = non_leaf(parameter("w", {1, 1}));
  EXPECT_EQ(raised([&] { backward(torch, {fine, data({1})}, {data({1}), data({1})}); }).message,
            "element 1 of tensors does not require grad and does not have a grad_fn");
}

TEST_F(TorchRulesTest, Rule27ScaleIsFreedByItsBackwardAndOtherOperatorsThatSaveNothingAreNot) {
  const auto second = [&](Context& which, const auto& make) {
    const Tensor y = make(parameter("w", {1, 2}));
    const Tensor seed = y.shape().num_elements() == 1 ? data({1}) : data({1, 1});
    backward(which, {y}, {seed});
    return raised([&] { backward(which, {y}, {seed}); });
  };
  const Raised freed = second(torch, [&](const Tensor& w) { return scale(torch, w, 1.0); });
  EXPECT_EQ(freed.kind, kind::kGraphFreed);
  EXPECT_NE(freed.message.find("Trying to backward through the graph a second time"), std::string::npos);
  EXPECT_EQ(second(context, [&](const Tensor& w) { return scale(context, w, 1.0); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return add(torch, w, w); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return subtract(torch, w, data({1, 2})); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return mean(torch, w); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return assign(torch, w); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return reshape(torch, w, w.shape()); }).kind, "");
  EXPECT_EQ(second(torch, [&](const Tensor& w) { return call(torch, copy_inputs, return_grads, {w})[0]; }).kind, "");
}

TEST_F(TorchRulesTest, Rule27WhatAFunctionSavesIsCheckedFromTheEndOfForwardOn) {
  const auto save_and_change = [](FunctionContext& fc, const Tensors& inputs) {
    fc.save_for_backward(inputs);
    inputs[0].impl()->bump_inplace_version();  // before the end
    return copy_inputs(fc, inputs);
  };
  const auto read = [](FunctionContext& fc, const Tensors&) { return fc.saved(); };
  const Tensor x = non_leaf(parameter("w", {1, 2}));
  const Tensor y = call(torch, save_and_change, read, {x})[0];
  EXPECT_EQ(raised([&] { backward(torch, {y}, {data({1, 1})}); }).kind, "");
  const Tensor z = call(torch, save_and_change, read, {x})[0];
  x.impl()->bump_inplace_version();
  const Raised error = raised([&] { backward(torch, {z}, {data({1, 1})}); });
  EXPECT_EQ(error.kind, kind::kInplaceVersion);
  EXPECT_EQ(error.message,
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation: "
            "[torch.FloatTensor [1, 2]] is at version 3; expected version 2 instead");
}

TEST_F(TorchRulesTest, Rule27MatmulSavesWhatAWantedGradientNeeds) {
  const Tensor x = data({2}), w = parameter("w", {3});
  const Tensor y = matmul(torch, x, w);
  w.impl()->bump_inplace_version();  // needed for the gradient of x alone
  EXPECT_EQ(raised([&] { backward(torch, {y}, {data({1})}); }).kind, "");
  EXPECT_EQ(values_of(w.grad()), (Floats{2}));
  const Tensor z = matmul(torch, x, w);
  x.impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(torch, {z}, {data({1})}); }).kind, kind::kInplaceVersion);
}

TEST_F(TorchRulesTest, Rule28SidesOfAnAddShareAGradientAndALeafHasItsOwn) {
  const Tensor w = parameter("w", {1, 2});
  Tensor seen[2];
  const auto keep = [&](int which) {
    return call(torch, copy_inputs,
                [&seen, which](FunctionContext&, const Tensors& grads) {
                  seen[which] = grads[0];
                  return grads;
                },
                {w})[0];
  };
  backward(torch, {add(torch, keep(0), keep(1))}, {data({1, 1})});
  EXPECT_TRUE(shares_storage(seen[0], seen[1]));
  EXPECT_FALSE(shares_storage(w.grad(), seen[0]));
}

TEST_F(TorchRulesTest, Rule28NewestNodeRunsFirst) {
  const Tensor w = parameter("w", {1, 2});
  std::string order;
  const auto tell = [&](char name) {
    return call(torch, copy_inputs,
                [&order, name](FunctionContext&, const Tensors& grads) {
                  order += name;
                  return grads;
                },
                {w})[0];
  };
  const Tensor a = tell('a'), b = tell('b');
  backward(torch, {add(torch, a, b)}, {data({1, 1})});
  EXPECT_EQ(order, "ba");
}

TEST_F(TorchRulesTest, Rule30InputsOfABlockAreChecked) {
  const Tensor x = non_leaf(parameter("w", {1, 2}));
  const Tensor y = recompute(torch, RecomputeKind::kNonReentrant,
                             [&](const Tensors& in) { return square(torch, in[0]); }, {x});
  x.impl()->bump_inplace_version();
  EXPECT_EQ(raised([&] { backward(torch, {y}, {data({1, 1})}); }).kind, kind::kInplaceVersion);
}

TEST_F(TorchRulesTest, Rule30SecondRunEndsWithTheLastValueThatIsNeeded) {
  for (Context* which : {&context, &torch}) {
    int ends = 0;
    const Tensor y = recompute(*which, RecomputeKind::kNonReentrant,
                               [&](const Tensors& in) {
                                 const Tensor squared = square(*which, in[0]);
                                 ++ends;
                                 return squared;
                               },
                               {parameter("w", {1, 2})});
    backward(*which, {y}, {data({1, 1})});
    EXPECT_EQ(ends, which == &torch ? 1 : 2);
    EXPECT_EQ(which->replay_depth(), 0);
  }
}

TEST_F(TorchRulesTest, Rule30SuppliedValueNeedsAGradientAsTheSavedOneDid) {
  const Tensor w = parameter("w", {1, 2});
  for (Context* which : {&context, &torch}) {
    bool stops = false;
    const Tensor y = recompute(*which, RecomputeKind::kNonReentrant,
                               [&](const Tensors& in) {
                                 return call(
                                     *which,
                                     [](FunctionContext& fc, const Tensors& inputs) {
                                       fc.save_for_backward(inputs);
                                       return copy_inputs(fc, inputs);
                                     },
                                     [&](FunctionContext& fc, const Tensors& grads) {
                                       stops = fc.saved()[0].stop_gradient();
                                       return grads;
                                     },
                                     in)[0];
                               },
                               {w});
    backward(*which, {y}, {data({1, 1})});
    EXPECT_EQ(stops, which == &context);
  }
}

TEST_F(TorchRulesTest, Rule30BlocksNest) {
  const Tensor w = parameter("w", {3, 2});
  const Block inner = [&](const Tensors& in) { return square(torch, in[0]); };
  const Block outer = [&](const Tensors& in) {
    return square(torch, recompute(torch, RecomputeKind::kNonReentrant, inner, in));
  };
  backward(torch, {recompute(torch, RecomputeKind::kNonReentrant, outer, {w})}, {data({1, 1})});
  EXPECT_EQ(values_of(w.grad()), (Floats{108, 32}));  // of w^4: 4 w^3
}

TEST(FrameworkRulesTest, OneRuleOfAnotherFrameworkCanBeTakenOver) {
  const FrameworkRules& mixed = rules_of("paddle@3.3.1+new_handle");
  EXPECT_FALSE(mixed.returned_input_is_inplace);
  EXPECT_TRUE(mixed.unneeded_gradient_is_error);
  EXPECT_FALSE(mixed.speaks_torch);
  EXPECT_EQ(mixed.name, "paddle@3.3.1+new_handle");
  for (const NamedRule& rule : named_rules()) EXPECT_FALSE(rule.meaning.empty()) << rule.name;
}

TEST(FrameworkRulesTest, UnknownOnesAreRefusedByName) {
  const auto refusal = [](const char* framework) -> std::string {
    try {
      rules_of(framework);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("torch@1.0"),
            "unknown framework 'torch@1.0', known: paddle@3.3.1, paddle@2.6.2, torch@2.15.0");
  EXPECT_NE(refusal("paddle@3.3.1+new_handel").find("known: new_handle, gradient_dropped"),
            std::string::npos);
  // 3.3.1 accepts a none already: there is nothing to take over.
  EXPECT_NE(refusal("paddle@3.3.1+none_accepted").find("unknown rule 'none_accepted'"),
            std::string::npos);
  EXPECT_EQ(refusal("paddle@2.6.2+none_accepted"), "");
}

}  // namespace
}  // namespace culprit::test
