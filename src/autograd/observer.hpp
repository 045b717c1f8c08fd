// Sees what a rank's autograd does, for traces. It must not change anything; a run with an observer comes out as one
// without.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograd/tensor.hpp"

namespace culprit {

class Node;

class OperationObserver {
 public:
  virtual ~OperationObserver() = default;
  // `node` is null when the operation was not recorded.
  virtual void operator_done(const std::string& name, const std::vector<Tensor>& inputs, const Tensor& output,
                             const std::shared_ptr<Node>& node) = 0;
  // Also when the function is refused because of its outputs (`node` is null then). `outputs` are what history was attached to (what forward returned, or under rule 21 a new handle), `returned` what the caller got.
  virtual void function_done(const std::string& name, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& outputs, const std::vector<Tensor>& returned,
                             const std::shared_ptr<Node>& node) = 0;
  virtual void backward_done(const std::shared_ptr<Node>& node) = 0;
};

}  // namespace culprit
