// The silent one (measured, not reported): the identity returns its input, so the input's own history is
// rebased onto the identity; the residual branch, a later use of the same object, then flows through the
// identity's backward too and is all-reduced although every rank already holds the whole.
// Claim: WRONG_GRAD for everything upstream of the block's input, no error, exit 11.
//   skip_identity_residual        the same as --pp 1 --skip-c-identity --residual
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_residual() {
  static const Scenario scenario{
      .name = "skip_identity_residual",
      .title = "skip_c_identity + residual: silent wrong gradient upstream",
      .upstream = "measured on PaddlePaddle 2.6.2 and 3.3.1, not reported",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}},
      .clean = {{"residual", "0"}},
      .expected = {.outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
      .minimal = with_reported({})};
  return scenario;
}

}  // namespace culprit
