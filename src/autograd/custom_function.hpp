// User-defined forward/backward pairs: the framework's PyLayer (rules 5 to 9).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// What one application of a custom function remembers between its forward and its backward.
class FunctionContext {
 public:
  explicit FunctionContext(Context& context) : context_(context) {}

  // Keeps tensor objects (no copy, no version check; undefined ones allowed). Passes through the
  // saved-tensor hooks. alias: the objects themselves. Errors: SubjectError SAVE_NONE where the
  // framework's hooks refuse a none.
  void save_for_backward(const std::vector<Tensor>& tensors);
  // The saved objects, or what the hooks supply for them. Errors: GRAPH_FREED after release_saved().
  std::vector<Tensor> saved();
  // Exempts an output from the in-place rules (rule 7).
  void mark_not_inplace(const Tensor& tensor) { not_inplace_.push_back(tensor); }
  void release_saved() {
    freed_ |= !saved_.empty();
    saved_.clear();
  }

  // Marks count for one application only; kept, they would hold the object whose history holds this context.
  void forget_marks() { not_inplace_.clear(); }

  Context& context() { return context_; }
  const std::vector<Tensor>& not_inplace() const { return not_inplace_; }

 private:
  struct Saved {
    Tensor object;
    std::shared_ptr<SavedTensorHooks> hooks;
    std::shared_ptr<void> packed;
  };
  Context& context_;
  std::vector<Saved> saved_;
  bool freed_ = false;
  std::vector<Tensor> not_inplace_;
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
// in-place output: the very object passed in has its history rebased onto the function.
// alias: whatever forward returned, except marked outputs, which come back as new objects on the same
// impl. Errors: SubjectError LEAF_INPLACE; at backward GRAD_FOR_STOPPED_INPUT.
std::vector<Tensor> apply(Context& context, const std::shared_ptr<CustomFunction>& function,
                          const std::vector<Tensor>& inputs);

}  // namespace culprit
