#include "autograd/saved_tensor.hpp"

#include <fmt/format.h>

#include "autograd/node.hpp"

namespace culprit {
namespace {

void check_version(const Context& context, const TensorImpl& impl, std::uint32_t expected, const std::string& name) {
  if (impl.inplace_version() == expected) return;
  if (context.rules().speaks_torch)
    throw SubjectError(kind::kInplaceVersion,
                       fmt::format("one of the variables needed for gradient computation has been modified by an "
                                   "inplace operation: [torch.FloatTensor [{}, {}]] is at version {}; expected version "
                                   "{} instead",
                                   impl.shape().rows, impl.shape().cols, impl.inplace_version(), expected));
  throw SubjectError(kind::kInplaceVersion,
                     fmt::format("Tensor '{}' used in gradient computation has been modified by an inplace "
                                 "operation. Its version is {} but the expected version is {}",
                                 name, impl.inplace_version(), expected));
}

}  // namespace

void throw_graph_freed(const Context& context, const std::string& what) {
  throw SubjectError(kind::kGraphFreed,
                     context.rules().speaks_torch
                         ? "Trying to backward through the graph a second time (or directly access saved tensors "
                           "after they have already been freed)"
                         : "trying to run backward through the same graph a second time: " + what + " has been freed");
}

SavedTensor::SavedTensor(Context& context, const Tensor& value) : name_(value.name()) {
  if (context.hooks()) {
    hooks_ = context.hooks();
    packed_ = hooks_->pack(value);
    return;
  }
  impl_ = value.impl();
  // No other object is held: one that an in-place function rebases may lead back to here.
  if (value.object()->made_by_function) view_ = value;
  version_ = impl_->inplace_version();
}

Tensor SavedTensor::unpack(Context& context) const {
  if (hooks_) return hooks_->unpack(packed_);
  if (!impl_) throw_graph_freed(context, "the value saved for " + name_);
  if (view_.defined()) require_history(view_);
  check_version(context, *impl_, version_, name_);
  return context.wrap(impl_);
}

void SavedTensor::reset() {
  impl_.reset();
  view_ = Tensor();
  hooks_.reset();
  packed_.reset();
}

SavedObject::SavedObject(Context& context, const Tensor& value, bool checked) : checked_(checked) {
  if (!context.hooks()) {
    object_ = value;
    if (value.defined() && checked) version_ = value.impl()->inplace_version();
    return;
  }
  hooks_ = context.hooks();
  packed_ = hooks_->pack(value);
  if (!value.defined()) return;
  stop_gradient_ = value.stop_gradient();
  if (context.rules().supplied_value_keeps_need) {
    node_ = value.object()->node;
    slot_ = value.object()->slot;
  }
}

Tensor SavedObject::unpack(Context& context) const {
  if (!hooks_) {
    if (!object_.defined() || !checked_) return object_;
    require_history(object_);
    check_version(context, *object_.impl(), version_, object_.name());
    return object_;
  }
  const Tensor supplied = hooks_->unpack(packed_);
  if (!supplied.defined() || !context.rules().supplied_value_keeps_need) return supplied;
  Tensor result = context.wrap(supplied.impl(), stop_gradient_);
  result.object()->node = node_;
  result.object()->slot = slot_;
  return result;
}

}  // namespace culprit
