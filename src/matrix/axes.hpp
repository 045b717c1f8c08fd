// Stage: matrix. The switches of a run and the cells they span.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/cell.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

// One switch of the matrix: off, or one of its on-values.
struct AxisValue {
  std::string label;  // "recompute (reentrant)"
  std::string field;  // "recompute"
  std::string value;  // "reentrant"
};
struct Axis {
  const Field* field = nullptr;  // of the common table or the scenario's own
  std::string off;  // value of the field when off
  std::vector<AxisValue> on;
};

// Which value each axis has: 0 off, i the i-th on-value.
using Choice = std::vector<std::size_t>;

struct Matrix {
  Cell base;  // sizes and pinned toggles; every axis off
  std::vector<Axis> axes;
  // Switches of the scenario that no cell has on, and cells whose outcome the framework's rules don't tell, each with its
  // reason: "skip_c_identity: at tp 1 ...".
  std::vector<std::string> left_out;
  std::vector<Choice> choices;  // all possible cells: the base, each switch alone, pairs, ..., all
};

// What a switch of the scenario is when it is on: every value that its claim or its declared combinations have, an
// operator before and a residual, both kinds of recompute, the pinned number of stages.
std::vector<std::string> on_values(const Scenario& scenario, const std::string& name, const Cell& pinned);

// The scenario's switches (Scenario::toggles) on top of `pinned`. A pipeline switch (pp) is in the matrix
// when pinned.pp is above 1, off meaning one stage with the same blocks and micro-batches; a recompute
// switch when `with_recompute`, with both kinds. Impossible cells are left out, and those
// that are not modelled (why_not_modelled). Errors: UsageError when `pinned`
// has a switch at a value that is neither its off- nor one of its on-values.
Matrix make_matrix(const Scenario& scenario, const Cell& pinned, bool with_recompute);

Cell cell_of(const Matrix& matrix, const Choice& choice);
std::size_t num_on(const Choice& choice);
// "skip_c_identity + residual"; "base" when all are off.
std::string label_of(const Matrix& matrix, const Choice& choice);
// Where each choice stands in matrix.choices.
std::map<Choice, std::size_t> places_of(const Matrix& matrix);
// The places of the choices with one switch less. A switch that can't be off beside the others has none.
std::vector<std::size_t> one_smaller(const std::map<Choice, std::size_t>& places, const Choice& choice);
// The on-values as settings.
Settings settings_of(const Matrix& matrix, const Choice& choice);

}  // namespace culprit
