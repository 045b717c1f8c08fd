#include "engine/engine_ops.hpp"

#include "autograd/functions.hpp"
#include "parallel/linear_layers.hpp"
#include "recompute/recompute.hpp"

namespace culprit {

Tensor EngineOps::matmul(const Tensor& x, const Tensor& w) {
  return culprit::matmul(context_, x, w);
}
Tensor EngineOps::add(const Tensor& a, const Tensor& b) { return culprit::add(context_, a, b); }
Tensor EngineOps::scale(const Tensor& x, double factor) {
  return culprit::scale(context_, x, factor);
}

Tensor EngineOps::identity(const Tensor& x) {
  return group_.size == 1 ? x : identity_region(context_, group_, cell_.identity, x);
}

Tensor EngineOps::column_linear(const Tensor& x, const std::string& weight) {
  const ColumnParallelPolicy policy{.path = cell_.path, .identity = cell_.identity};
  return column_parallel_linear(context_, group_, policy, x, parameter(weight));
}

Tensor EngineOps::overlap_linear(const Tensor& x, const std::string& weight, OverlapWait wait) {
  if (group_.size == 1) return matmul(x, parameter(weight));
  return culprit::overlap_linear(context_, group_, skip(), x, parameter(weight), wait);
}

Tensor EngineOps::scaled_overlap_linear(const Tensor& x, const std::string& weight, double factor,
                                        OverlapWait wait) {
  if (group_.size == 1) return matmul(scale(x, factor), parameter(weight));
  return culprit::scaled_overlap_linear(context_, group_, factor, x, parameter(weight), wait);
}

Tensor EngineOps::frozen_column_linear(const Tensor& x, const std::string& weight) {
  return frozen_column_parallel_linear(context_, group_, cell_.identity, x, parameter(weight));
}

Tensor EngineOps::row_linear(const Tensor& x, const std::string& weight) {
  return row_parallel_linear(context_, group_, /*skip_backward_copy=*/skip(), x, parameter(weight));
}

Tensor EngineOps::gather(const Tensor& x) {
  return group_.size == 1 ? x : all_gather_region(context_, group_, x);
}

Tensor EngineOps::recompute(const std::function<Tensor(const Tensor&)>& block, const Tensor& x) {
  const Block on_list = [block](const std::vector<Tensor>& inputs) { return block(inputs[0]); };
  return culprit::recompute(context_, cell_.recompute, on_list, {x});
}

}  // namespace culprit
