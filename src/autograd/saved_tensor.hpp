// Values that are saved for a backward pass.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// A second backward through what a first one freed; `what` is it, in PaddlePaddle's words. Errors: SubjectError GRAPH_FREED.
[[noreturn]] void throw_graph_freed(const Context& context, const std::string& what);

// What an ordinary operator saves. Remembers the in-place version at saving; a different one at unpacking is an error
// (rule 3). Under saved-tensor hooks only what `pack` returned is kept and no version is checked (rule 15).
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(Context& context, const Tensor& value);

  // alias: a new object on the saved impl, or what the hooks supply.
  // Errors: SubjectError INPLACE_VERSION, VIEW_INPLACE; GRAPH_FREED after reset().
  Tensor unpack(Context& context) const;
  void reset();

 private:
  std::shared_ptr<TensorImpl> impl_;
  Tensor view_;  // the object itself where a custom function gave it out as a view, else undefined
  std::uint32_t version_ = 0;
  std::string name_;
  std::shared_ptr<SavedTensorHooks> hooks_;
  std::shared_ptr<void> packed_;
};

// What a custom function saves, or a recomputed block is called with: the object itself, or none.
class SavedObject {
 public:
  // `checked`: as a SavedTensor (rules 27 and 30).
  SavedObject(Context& context, const Tensor& value, bool checked);

  // alias: the object itself; under hooks what they supply, with the saved object's history where rule 30 keeps it.
  // Errors: SubjectError INPLACE_VERSION and VIEW_INPLACE where it is checked.
  Tensor unpack(Context& context) const;

 private:
  Tensor object_;  // undefined under hooks
  bool checked_;
  std::uint32_t version_ = 0;
  std::shared_ptr<SavedTensorHooks> hooks_;
  std::shared_ptr<void> packed_;
  bool stop_gradient_ = true;
  std::shared_ptr<Node> node_;
  std::size_t slot_ = 0;
};

}  // namespace culprit
