#include "parallel/linear_layers.hpp"

#include <stdexcept>

#include "autograd/functions.hpp"

namespace culprit {

Tensor column_parallel_linear(Context& context, const TensorParallelGroup& group,
                              const ColumnParallelPolicy& policy, const Tensor& x, const Tensor& w) {
  if (group.size == 1) return matmul(context, x, w);
  if (policy.path == ColumnPath::kIdentity)
    return matmul(context, identity_region(context, group, policy.identity, x), w);
  if (policy.identity != IdentityVariant::kCopy && policy.identity != IdentityVariant::kSkip)
    throw std::invalid_argument("[column_parallel_linear] the overlap path knows copy and skip only");
  return overlap_linear(context, group, policy.identity == IdentityVariant::kSkip, x, w);
}

Tensor frozen_column_parallel_linear(Context& context, const TensorParallelGroup& group, IdentityVariant identity,
                                     const Tensor& x, const Tensor& w) {
  return frozen_linear(context, group.size == 1 ? x : identity_region(context, group, identity, x), w);
}

Tensor row_parallel_linear(Context& context, const TensorParallelGroup& group, bool skip_backward_copy,
                           const Tensor& x, const Tensor& w) {
  const Tensor partial = matmul(context, x, w);
  return group.size == 1 ? partial : all_reduce_region(context, group, skip_backward_copy, partial);
}

}  // namespace culprit
