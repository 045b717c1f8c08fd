#include "outcome/judge.hpp"
#include "outcome/run_once.hpp"

namespace culprit {

Outcome run_once(const Model& model, const Cell& cell, CellRunOptions options) {
  const Reference reference = make_reference(model, cell, /*keep_all=*/true, options.on_operation);
  options.keep_micro_batch_grads = false;
  Outcome outcome = judge(cell, run_cell(model, cell, options), reference);
  if (outcome.outcome == OutcomeClass::kWrongGrad ||
      outcome.outcome == OutcomeClass::kMissingGrad) {
    options.keep_micro_batch_grads = true;
    outcome.first = locate_first(cell, run_cell(model, cell, options), reference);
  }
  return outcome;
}

}  // namespace culprit
