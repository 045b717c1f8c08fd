// Engine run and outcome in one call.
#pragma once

#include "config/cell.hpp"
#include "engine/run_cell.hpp"
#include "outcome/outcome.hpp"

namespace culprit {

// Runs the cell and judges it against its reference; a wrong or missing gradient is run once more
// with the gradients of every micro-batch kept, to say where it is first seen (Outcome::first).
// Where ranks are processes, all of them make this call; rank 0 judges, and the others get the
// outcome's class and kind alone. Errors: as run_cell and make_reference.
Outcome run_once(const Model& model, const Cell& cell, CellRunOptions options = {});

}  // namespace culprit
