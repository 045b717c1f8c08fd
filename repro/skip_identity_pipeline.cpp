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
      .claim = {{"pp", "2"}, {"identity", "skip"}},
      .clean = {{"pp", "1"}},
      .expected = {.switches = {{"pp", "2"}, {"identity", "skip"}},
           .outcome = OutcomeClass::kError,
           .kind = "LEAF_INPLACE",
           .phase = "forward"},
      .minimal = {
          {.switches = {{"identity", "skip"}, {"residual", "1"}},
           .outcome = OutcomeClass::kWrongGrad,
           .kind = "",
           .phase = "backward"},
          {.switches = {{"identity", "skip"}, {"recompute", "reentrant"}},
           .outcome = OutcomeClass::kError,
           .kind = "LEAF_INPLACE",
           .phase = "recompute"},
          {.switches = {{"identity", "skip"}, {"pp", "2"}},
           .outcome = OutcomeClass::kError,
           .kind = "LEAF_INPLACE",
           .phase = "forward"}}};
  return scenario;
}

}  // namespace culprit
