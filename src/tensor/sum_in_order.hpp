// The sum of a collective on the CPU, wherever its parts come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/dtype.hpp"

namespace culprit {

// total = the parts' sum, element by element: added in their order in float32, rounded once.
// alias: `total` may be one of the parts.
inline void sum_in_order(DType dtype, const std::vector<const std::byte*>& parts, std::byte* total,
                         std::int64_t num_elements) {
  const auto sum = [&]<class Stored>(Stored, auto load, auto store) {
    for (std::int64_t i = 0; i < num_elements; ++i) {
      float value = load(reinterpret_cast<const Stored*>(parts[0])[i]);
      for (std::size_t part = 1; part < parts.size(); ++part)
        value += load(reinterpret_cast<const Stored*>(parts[part])[i]);
      reinterpret_cast<Stored*>(total)[i] = store(value);
    }
  };
  const auto same = [](float value) { return value; };
  if (dtype == DType::kFloat32)
    sum(float{}, same, same);
  else if (dtype == DType::kFloat16)
    sum(std::uint16_t{}, float16_value, float16_bits);
  else
    sum(std::uint16_t{}, bfloat16_value, bfloat16_bits);
}

}  // namespace culprit
