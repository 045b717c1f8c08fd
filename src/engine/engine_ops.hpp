// What a scenario's model is written against: the engine's operators with the cell's toggles
// applied. The same template code also runs on ReferenceOps (outcome/reference.hpp). This is the
// one place where toggles become policies; nothing below it reads a toggle.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "autograd/context.hpp"
#include "config/cell.hpp"
#include "parallel/regions.hpp"
#include "parallel/tensor_parallel_group.hpp"

namespace culprit {

class EngineOps {
 public:
  using Value = Tensor;

  EngineOps(Context& context, const Cell& cell, const TensorParallelGroup& group,
            std::map<std::string, Tensor> parameters)
      : context_(context), cell_(cell), group_(group), parameters_(std::move(parameters)) {}

  const Cell& cell() const { return cell_; }

  // alias of each result: as the operator of the same name (autograd/functions.hpp, parallel/).
  // This rank's shard of a parameter. alias: the parameter itself.
  Tensor parameter(const std::string& name) const { return parameters_.at(name); }
  Tensor matmul(const Tensor& x, const Tensor& w);
  Tensor add(const Tensor& a, const Tensor& b);
  Tensor scale(const Tensor& x, double factor);
  // The identity operator alone, as toggled; x itself at tp 1.
  Tensor identity(const Tensor& x);
  // x [T, I] times the named weight's columns -> [T, O/tp].
  Tensor column_linear(const Tensor& x, const std::string& weight);
  // The overlap linear whatever the cell's path is; a plain product at tp 1.
  Tensor overlap_linear(const Tensor& x, const std::string& weight, OverlapWait wait);
  // As overlap_linear, of factor * x, with the backward's multiplication by factor; at tp 1 the
  // operators themselves.
  Tensor scaled_overlap_linear(const Tensor& x, const std::string& weight, double factor,
                               OverlapWait wait);
  // As column_linear with a weight that takes no gradient, by the identity operator on every path (rule
  // 19).
  Tensor frozen_column_linear(const Tensor& x, const std::string& weight);
  // x [T, I/tp] times the named weight's rows, summed over the group -> [T, O].
  Tensor row_linear(const Tensor& x, const std::string& weight);
  // x [T, O/tp] -> [T, O]; x itself at tp 1.
  Tensor gather(const Tensor& x);
  // Runs `block` under the cell's kind of recomputation.
  Tensor recompute(const std::function<Tensor(const Tensor&)>& block, const Tensor& x);

 private:
  bool skip() const { return cell_.identity == IdentityVariant::kSkip; }

  Context& context_;
  const Cell& cell_;
  const TensorParallelGroup& group_;
  std::map<std::string, Tensor> parameters_;
};

}  // namespace culprit
