// User-defined forward/backward pairs: PaddlePaddle's PyLayer (rules 5 to 9), PyTorch's Function (rules 21 to 27).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograd/context.hpp"
#include "autograd/saved_tensor.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// What one application of a custom function remembers between its forward and its backward.
class FunctionContext {
 public:
  explicit FunctionContext(Context& context) : context_(context) {}

  // Keeps tensor objects (no copy; undefined ones allowed). Passes through the saved-tensor hooks. Under rule 27 that
  // happens in finish_forward() and versions are checked. alias: the objects themselves. Errors: SubjectError SAVE_NONE
  // where the framework's hooks refuse a none.
  void save_for_backward(const std::vector<Tensor>& tensors);
  // The saved objects, or what the hooks supply for them. Errors: GRAPH_FREED after release_saved(); INPLACE_VERSION
  // under rule 27.
  std::vector<Tensor> saved();
  // Exempts an output from the in-place rules (rule 7).
  void mark_not_inplace(const Tensor& tensor) { not_inplace_.push_back(tensor); }
  // Says that an input was written in place (rule 22), or that an output has no gradient (rule 23).
  void mark_dirty(const Tensor& tensor) { dirty_.push_back(tensor); }
  void mark_non_differentiable(const Tensor& tensor) { non_differentiable_.push_back(tensor); }
  // Forward has returned; `recorded`: the function has a node. What was to be saved is saved (rule 27).
  void finish_forward(bool recorded);
  void release_saved() {
    freed_ |= !saved_.empty();
    saved_.clear();
  }

  // Marks count for one application only; kept, they would hold the object whose history holds this context.
  void forget_marks() {
    not_inplace_.clear();
    dirty_.clear();
    non_differentiable_.clear();
  }

  Context& context() { return context_; }
  const std::vector<Tensor>& not_inplace() const { return not_inplace_; }
  const std::vector<Tensor>& dirty() const { return dirty_; }
  const std::vector<Tensor>& non_differentiable() const { return non_differentiable_; }

 private:
  Context& context_;
  std::vector<SavedObject> saved_;
  std::vector<Tensor> to_save_;  // until forward has returned (rule 27)
  bool freed_ = false;
  std::vector<Tensor> not_inplace_, dirty_, non_differentiable_;
};

class CustomFunction {
 public:
  virtual ~CustomFunction() = default;
  virtual std::string name() const = 0;
  // Both run with gradient mode off. alias: forward may return an input itself.
  virtual std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) = 0;
  // One gradient an output -> one an input, undefined where it gives none; it may write into and return
  // a gradient it was given.
  virtual std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) = 0;
};

// Runs `function` on `inputs` and records it. An output whose impl is one of the inputs' impls is an
// in-place output: the very object passed in has its history rebased onto the function. Under rule 21 only an
// output that is marked dirty is one.
// alias: whatever forward returned, except marked outputs, which come back as new objects on the same
// impl (rule 7); under rule 21 each input that forward returned and did not mark dirty comes back as a view of it, under
// rule 23 as a new object without history.
// Errors: SubjectError LEAF_INPLACE, VIEW_INPLACE; at backward GRAD_FOR_STOPPED_INPUT. UsageError for an in-place output
// whose rule is not modelled.
std::vector<Tensor> apply(Context& context, const std::shared_ptr<CustomFunction>& function,
                          const std::vector<Tensor>& inputs);

}  // namespace culprit
