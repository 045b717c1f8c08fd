#include "autograd/saved_tensor.hpp"

#include <fmt/format.h>

namespace culprit {

SavedTensor::SavedTensor(Context& context, const Tensor& value) : name_(value.name()) {
  if (context.hooks()) {
    hooks_ = context.hooks();
    packed_ = hooks_->pack(value);
    return;
  }
  impl_ = value.impl();
  version_ = impl_->inplace_version();
}

Tensor SavedTensor::unpack(Context& context) const {
  if (hooks_) return hooks_->unpack(packed_);
  if (!impl_)
    throw SubjectError(kind::kGraphFreed,
                       "trying to run backward through the same graph a second time: the value saved for " +
                           name_ + " has been freed");
  if (impl_->inplace_version() != version_)
    throw SubjectError(kind::kInplaceVersion,
                       fmt::format("Tensor '{}' used in gradient computation has been modified by an inplace "
                                   "operation. Its version is {} but the expected version is {}",
                                   name_, impl_->inplace_version(), version_));
  return context.wrap(impl_);
}

void SavedTensor::reset() {
  impl_.reset();
  hooks_.reset();
  packed_.reset();
}

}  // namespace culprit
