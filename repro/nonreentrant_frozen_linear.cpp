// A quantised linear under non-reentrant recomputation (measured): its backward gives dx only if the input it saved
// needs a gradient, and what non-reentrant recomputation supplies for a saved tensor is a new object that stops
// gradients (docs/semantics.md, rules 15 and 20). So the path through every frozen weight is dropped.
// Claim: WRONG_GRAD upstream of the layer, no error, exit 11.
//   nonreentrant_frozen_linear    the same as --pp 1 --recompute=nonreentrant
#include "repro/qlora_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& nonreentrant_frozen_linear() {
  static const Scenario scenario{
      .name = "nonreentrant_frozen_linear",
      .title = "non-reentrant recompute + quantised linear: silent wrong gradient upstream",
      .upstream = "measured on PaddlePaddle 3.3.1 with paddleformers 1.2.0, not reported",
      .model = make_model<QloraModel>(),
      .toggles = {"identity", "recompute", "pp"},
      .claim = {{"pp", "1"}, {"recompute", "nonreentrant"}},
      .clean = {{"recompute", "reentrant"}},
      .expected = {.outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
      .minimal = qlora_failures()};
  return scenario;
}

}  // namespace culprit
