// The custom functions around a tensor-parallel region. Only called for groups of more than one
// rank (rule 10: at size 1 a layer is a plain matmul). All members of the group must call each of
// them, and run their backward passes, in the same order.
#pragma once

#include <string_view>
#include <vector>

#include "autograd/context.hpp"
#include "parallel/tensor_parallel_group.hpp"

namespace culprit {

// How the identity operator's forward makes its output (rule 10).
enum class IdentityVariant {
  kCopy,
  kSkip,
  kView,
  kDetach,
  kReshape,
  kMarkNotInplace,
  kMarkDirty,              // rule 22, PyTorch only, as the next
  kMarkNonDifferentiable,  // rule 23
};

// x [T, H] -> [T, H]. forward: the variant; backward: all-reduces the incoming gradient in place
// and returns it. alias: copy: fresh; skip, reshape and mark_dirty: x itself; view: view of x; detach,
// mark_not_inplace and mark_non_differentiable: a new object on x's impl; under rule 21 a view of x where forward returns x
// unmarked. Errors: SubjectError LEAF_INPLACE, VIEW_INPLACE.
Tensor identity_region(Context& context, const TensorParallelGroup& group, IdentityVariant variant,
                       const Tensor& x);

// y [T, H] -> [T, H], the partial sums' total. forward: all-reduces y in place and returns it;
// backward: the gradient itself if `skip_backward_copy`, else a copy (rule 11). alias: y itself,
// version + 1.
Tensor all_reduce_region(Context& context, const TensorParallelGroup& group,
                         bool skip_backward_copy, const Tensor& y);

// y [T, H/tp] -> [T, H]. forward: all-gather of the feature shards; backward: a copy of this rank's
// slice. alias: fresh.
Tensor all_gather_region(Context& context, const TensorParallelGroup& group, const Tensor& y);

// Whether overlap_linear's backward waits for the all-reduce of dx before it hands dx on. Left out,
// the collective stays open until the function goes: who reads dx meanwhile meets this rank's part,
// the sum, or some of both, by timing.
enum class OverlapWait { kBeforeUse, kLeftOut };

// x [T, I], w [I, O/tp] -> [T, O/tp], in one custom function (rule 12). forward: matmul of x (skip)
// or of a copy of it; backward: starts the all-reduce of dx, computes dw meanwhile, waits, returns
// both, whatever x needs. alias: fresh. Errors: at backward GRAD_FOR_STOPPED_INPUT when x stops
// gradients; SAVE_NONE where the framework's hooks refuse the missing bias.
Tensor overlap_linear(Context& context, const TensorParallelGroup& group, bool skip_copy,
                      const Tensor& x, const Tensor& w, OverlapWait wait = OverlapWait::kBeforeUse);

// x [T, I], w [I, O/tp] -> [T, O/tp], the product of factor * x, as overlap_linear. backward: starts
// the all-reduce of dx, computes dw meanwhile, waits, multiplies dx by factor, returns both. With
// kLeftOut the wait comes after the multiplication, which then works on this rank's part, on the
// sum, or on some of both, by timing, and may be written over. alias: fresh.
Tensor scaled_overlap_linear(Context& context, const TensorParallelGroup& group, double factor,
                             const Tensor& x, const Tensor& w, OverlapWait wait);

// x [T, I], w [I, O] -> [T, O], a linear whose weight takes no gradient (quantised, rule 20): saves
// both through the context; backward gives dx only if the *saved* x needs a gradient, else none.
// alias: fresh. Errors: SAVE_NONE as above.
Tensor frozen_linear(Context& context, const Tensor& x, const Tensor& w);

}  // namespace culprit
