// Recompute alone suffices beside skip_c_identity, without a pipeline: reentrant recompute detaches the
// block's input, which makes it a leaf, and the identity returns that leaf (measured).
// Claim: LEAF_INPLACE in the second run of the last block in backward 0, exit 10.
//   skip_identity_recompute       the same as --pp 1 --skip-c-identity --recompute
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_recompute() {
  static const Scenario scenario{
      .name = "skip_identity_recompute",
      .title = "skip_c_identity + reentrant recompute refuses the detached input",
      .upstream = "PaddlePaddle/Paddle issue 59290",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"identity", "skip"}, {"recompute", "reentrant"}},
      .clean = {{"recompute", "none"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "LEAF_INPLACE", .phase = "recompute"},
      .minimal = with_reported({})};
  return scenario;
}

}  // namespace culprit
