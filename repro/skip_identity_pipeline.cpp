// Pipeline alone suffices beside skip_c_identity, without recompute: an activation received from the
// previous stage is a leaf, and the identity returns that leaf (measured).
// Claim: LEAF_INPLACE in forward 0 of stage 1, exit 10.
//   skip_identity_pipeline        the same as --pp 2 --skip-c-identity
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_pipeline() {
  static const Scenario scenario{
      .name = "skip_identity_pipeline",
      .title = "skip_c_identity + pipeline refuses the received activation",
      .upstream = "PaddlePaddle/Paddle issue 59290",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "2"}, {"identity", "skip"}},
      .clean = {{"pp", "1"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "LEAF_INPLACE", .phase = "forward"},
      .minimal = with_reported({})};
  return scenario;
}

}  // namespace culprit
