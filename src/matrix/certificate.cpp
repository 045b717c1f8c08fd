#include "matrix/certificate.hpp"

#include <algorithm>

namespace culprit {
namespace {

bool contains(const Choice& outer, const Choice& inner) {
  for (std::size_t a = 0; a < inner.size(); ++a)
    if (inner[a] != 0 && outer[a] != inner[a]) return false;
  return true;
}

// The on-values that all of `runs` share and `own` lacks.
std::vector<AxisValue> shared_switches(const Matrix& matrix, const Choice& own,
                                       const std::vector<std::size_t>& runs) {
  std::vector<AxisValue> shared;
  for (std::size_t a = 0; a < own.size() && !runs.empty(); ++a) {
    const std::size_t value = matrix.choices[runs.front()][a];
    const bool in_all = std::all_of(runs.begin(), runs.end(),
                                    [&](std::size_t i) { return matrix.choices[i][a] == value; });
    if (in_all && value != 0 && own[a] == 0) shared.push_back(matrix.axes[a].on[value - 1]);
  }
  return shared;
}

}  // namespace

MatrixCertificate certificate_of(const Matrix& matrix, const std::vector<Outcome>& outcomes,
                                 std::size_t index) {
  MatrixCertificate certificate;
  const Choice& own = matrix.choices[index];
  const std::map<Choice, std::size_t> places = places_of(matrix);
  certificate.smaller = one_smaller(places, own);
  for (std::size_t a = 0; a < own.size(); ++a) {
    if (own[a] == 0) continue;
    Choice without = own;
    without[a] = 0;
    if (!places.contains(without)) certificate.bound.push_back(matrix.axes[a].on[own[a] - 1]);
  }
  const std::string print = fingerprint(outcomes[index]);
  for (std::size_t i = 0; i < matrix.choices.size(); ++i) {
    if (!contains(matrix.choices[i], own)) continue;
    const std::string other = fingerprint(outcomes[i]);
    (other == print  ? certificate.fails_alike
     : other.empty() ? certificate.passes
                     : certificate.fails_differently)
        .push_back(i);
  }
  certificate.hiding = shared_switches(matrix, own, certificate.passes);
  return certificate;
}

}  // namespace culprit
