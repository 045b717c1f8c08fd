// Input of the runtimes' benchmarks.
#pragma once

#include <memory>
#include <vector>

#include "autograd/context.hpp"

namespace culprit {

// Fresh memory with small values of both signs.
inline std::shared_ptr<TensorImpl> filled_tensor(Context& context, Shape shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i * 37 % 101) / 1000.0F - 0.05F;
  auto impl = context.allocate(shape);
  context.backend().upload(values, impl->data());
  return impl;
}

}  // namespace culprit
