// The tensor-parallel linear layers.
#pragma once

#include "autograd/context.hpp"
#include "parallel/regions.hpp"
#include "parallel/tensor_parallel_group.hpp"

namespace culprit {

// Which operators a column-parallel layer uses (rule 19: released layers take skip only together with
// the overlap path; layers that call the identity operator themselves reach the identity path).
enum class ColumnPath { kIdentity, kOverlap };

struct ColumnParallelPolicy {
  ColumnPath path = ColumnPath::kIdentity;
  // On the overlap path only kCopy and kSkip exist.
  IdentityVariant identity = IdentityVariant::kCopy;
};

// y [T, O/tp] = x [T, I] times this rank's columns w [I, O/tp]. At group size 1 a plain matmul.
// alias: fresh; on the identity path with skip or reshape x's own history is rebased.
// Errors: as identity_region and overlap_linear.
Tensor column_parallel_linear(Context& context, const TensorParallelGroup& group,
                              const ColumnParallelPolicy& policy, const Tensor& x, const Tensor& w);

// The same with a quantised weight w [I, O/tp], which takes no gradient: the identity, then a frozen linear (rules 19
// and 20). alias and errors: as there.
Tensor frozen_column_parallel_linear(Context& context, const TensorParallelGroup& group, IdentityVariant identity,
                                     const Tensor& x, const Tensor& w);

// y [T, O] = sum over the group of x [T, I/tp] times this rank's rows w [I/tp, O]. At group size 1 a plain
// matmul. `skip_backward_copy`: see all_reduce_region. alias: fresh, version 1 where history was recorded.
Tensor row_parallel_linear(Context& context, const TensorParallelGroup& group, bool skip_backward_copy,
                           const Tensor& x, const Tensor& w);

}  // namespace culprit
