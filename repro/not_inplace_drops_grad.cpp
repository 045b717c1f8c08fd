// A tempting fix that is worse than the error (measured): an output marked as not in-place is handed out as
// a new object, but the history is set on the old one, so gradients through the output vanish.
// Claim: MISSING_GRAD for everything upstream, no error, exit 12.
//   not_inplace_drops_grad        the same as --pp 1 --identity mark_not_inplace
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& not_inplace_drops_grad() {
  static const Scenario scenario{
      .name = "not_inplace_drops_grad",
      .title = "mark_not_inplace in the identity drops the gradient",
      .upstream = "measured on PaddlePaddle 2.6.2 and 3.3.1, not reported",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"identity", "mark_not_inplace"}},
      .clean = {{"identity", "view"}},
      .expected = {.outcome = OutcomeClass::kMissingGrad, .kind = "", .phase = "backward"},
      .minimal = {
          {.switches = {{"identity", "mark_not_inplace"}},
           .outcome = OutcomeClass::kMissingGrad, .kind = "", .phase = "backward"}}};
  return scenario;
}

}  // namespace culprit
