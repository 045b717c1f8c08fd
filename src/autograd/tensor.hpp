// A tensor as the framework's user holds it. Three layers (docs/semantics.md, rule 1):
//   Tensor   a reference to a tensor *object*; copying a Tensor copies the reference, as in Python.
//   object   an impl + autograd meta. Two objects may share an impl (detach).
//   impl     shape, in-place version, storage. Two impls may share a storage (view).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/subject_error.hpp"
#include "tensor/tensor_impl.hpp"

namespace culprit {

class Node;
class Tensor;

class Tensor {
 public:
  // What the autograd engine knows of one object.
  struct Object {
    std::shared_ptr<TensorImpl> impl;  // null once released
    std::string name;
    bool stop_gradient = true;
    std::shared_ptr<TensorImpl> grad;  // null: none
    std::shared_ptr<Node> node;        // producing node; an accumulation node for a used leaf
    std::size_t slot = 0;              // which output of `node`
    bool is_view = false;              // shares the memory of a tensor that it was made of
    // A view that a recorded custom function gave out, and the in-place version it had then (rule 22).
    bool made_by_function = false;
    std::uint32_t made_at_version = 0;
  };

  Tensor() = default;  // undefined: the framework's none
  // A new object on `impl` (shared, not copied) without history.
  Tensor(std::shared_ptr<TensorImpl> impl, std::string name, bool stop_gradient)
      : object_(std::make_shared<Object>()) {
    object_->impl = std::move(impl);
    object_->name = std::move(name);
    object_->stop_gradient = stop_gradient;
  }

  bool defined() const { return object_ != nullptr; }
  // The same object, not merely the same values.
  bool is(const Tensor& other) const { return object_ == other.object_; }
  const std::shared_ptr<Object>& object() const { return object_; }

  // Errors: SubjectError USE_AFTER_RELEASE when the data has been released.
  const std::shared_ptr<TensorImpl>& impl() const {
    if (!object_->impl)
      throw SubjectError(
          kind::kUseAfterRelease,
          "Tensor (" + object_->name + ") holds no memory: it was released after it was sent");
    return object_->impl;
  }
  Shape shape() const { return impl()->shape(); }
  const std::string& name() const { return object_->name; }
  bool released() const { return object_->impl == nullptr; }
  // Drops this object's hold on its data; the object, its node and other owners of the data stay.
  void release() const { object_->impl.reset(); }

  bool stop_gradient() const { return object_->stop_gradient; }
  void set_stop_gradient(bool stop) const { object_->stop_gradient = stop; }
  // No producing node, or only an accumulation node (rule 2).
  bool is_leaf() const;
  // The gradient accumulated so far, as a tensor without history; undefined when there is none.
  Tensor grad() const {
    return object_->grad ? Tensor(object_->grad, object_->name + "@GRAD", /*stop_gradient=*/true)
                         : Tensor();
  }

 private:
  std::shared_ptr<Object> object_;
};

// The elements of `tensor`'s memory: no autograd record, no in-place version change (rule 13).
// Valid while the data has an owner.
inline Elements raw_elements(const Tensor& tensor) {
  return {tensor.impl()->data(), tensor.impl()->num_elements()};
}

// Whether writes to one are seen through the other.
inline bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.impl()->storage() == b.impl()->storage();
}

}  // namespace culprit
