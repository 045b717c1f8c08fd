// The gradients or losses that a run wrote to a file, and how they compare with the reference
// run's.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace culprit {

struct DumpTensor {
  std::string name;
  std::vector<std::size_t> shape;  // empty: a single number
  std::vector<double> values;      // C order
};
using Dump = std::vector<DumpTensor>;  // in the file's order

// Two tensors agree where |value - reference| <= atol + rtol * (largest finite |reference| of the
// tensor): relative to the tensor, since a tiny entry beside large ones is mostly rounding.
struct DumpTolerance {
  double rtol = 1e-4;
  double atol = 1e-6;
};

// A dump that can't be read, with the reason. Caught in this folder: it makes a trial unresolved.
class DumpError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads a JSON object of name -> number or (nested) array, nested objects named a.b, or a .npy
// file; which of them tells its content. NaN and Infinity may stand as Python's json writes them,
// or as strings; null is NaN. DumpError: not there, not one of these, ragged arrays, one name
// twice.
Dump read_dump(const std::string& path);

// The first tensor, in the reference's order, that is not as in the reference.
struct DumpDifference {
  std::string fingerprint;  // "missing:NAME", "shape:NAME", "nan:NAME", "differs:NAME"
  std::string text;         // with numbers, for people
};
// Tensors that only `dump` has are ignored: a switch may add parameters.
std::optional<DumpDifference> first_difference(const Dump& reference, const Dump& dump,
                                               const DumpTolerance& tolerance);

// The first tensor that holds a NaN: such a dump is no reference.
std::optional<std::string> first_nan(const Dump& dump);

}  // namespace culprit
