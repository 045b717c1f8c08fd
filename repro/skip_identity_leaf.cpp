// The reported combination (PaddlePaddle/Paddle issue 59290): enable_mp_skip_c_identity fails under pipeline
// gradient merge + recompute when no operator runs before a ColumnParallelLinear's matmul.
// Claim: with all three on, the block's second run in backward 0 of the last stage hands a leaf that needs
// a gradient to an identity that returns its input: LEAF_INPLACE, exit 10. Either of recompute and pp-merge
// suffices beside skip.
//   skip_identity_leaf            the same as --tp 2 --pp 2 --acc 4 --skip-c-identity --recompute
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_leaf() {
  static const Scenario scenario{
      .name = "skip_identity_leaf",
      .title = "skip_c_identity fails under pp-merge + recompute",
      .upstream = "PaddlePaddle/Paddle issue 59290",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "recompute", "pp", "first_op", "residual"},
      .claim = {{"identity", "skip"}, {"recompute", "reentrant"}},
      .clean = {{"identity", "copy"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "LEAF_INPLACE", .phase = "recompute"},
      .minimal = with_reported({})};
  return scenario;
}

}  // namespace culprit
