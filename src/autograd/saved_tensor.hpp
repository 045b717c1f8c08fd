// A value that an ordinary operator saves for its backward.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// Remembers the in-place version at saving; a different one at unpacking is an error (rule 3). Under
// saved-tensor hooks only what `pack` returned is kept and no version is checked (rule 15).
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(Context& context, const Tensor& value);

  // alias: a new object on the saved impl, or what the hooks supply.
  // Errors: SubjectError INPLACE_VERSION; GRAPH_FREED after reset().
  Tensor unpack(Context& context) const;
  void reset();

 private:
  std::shared_ptr<TensorImpl> impl_;
  std::uint32_t version_ = 0;
  std::string name_;
  std::shared_ptr<SavedTensorHooks> hooks_;
  std::shared_ptr<void> packed_;
};

}  // namespace culprit
