// NumPy's array file (.npy, format versions 1 to 3): float32 or float64, little endian, C order.
#pragma once

#include <string_view>

#include "target/tensor_dump.hpp"

namespace culprit {

bool is_npy(std::string_view bytes);

// The array as a tensor named "array". DumpError for any other type, order or version (naming it),
// a header that is not NumPy's, or data that is shorter or longer than the header says.
DumpTensor parse_npy(std::string_view bytes);

}  // namespace culprit
