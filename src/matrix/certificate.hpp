// Why a combination of a whole matrix is a minimal failing one: the runs that say so.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "matrix/axes.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

// Indices into Matrix::choices throughout.
struct MatrixCertificate {
  // The combination with one of its switches off: all pass. A switch that can't be off beside the
  // others has no run here.
  std::vector<std::size_t> smaller;
  std::vector<AxisValue> bound;  // those switches
  // The combination's own run and all with further switches, by what they came to.
  std::vector<std::size_t> fails_alike;        // with its fingerprint
  std::vector<std::size_t> fails_differently;  // another failure is met first, or is added
  std::vector<std::size_t> passes;             // a further switch hides it
  std::vector<AxisValue> hiding;  // on in every run of `passes`, and off in the combination
};

// The certificate of the failing combination matrix.choices[index].
MatrixCertificate certificate_of(const Matrix& matrix, const std::vector<Outcome>& outcomes,
                                 std::size_t index);

}  // namespace culprit
