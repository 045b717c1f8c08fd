// A quantised LoRA column layer (repro/qlora_model.hpp): with skip the identity returns x itself, whose history is
// rebased, so the low-rank branch's gradient, a later use of x, is all-reduced once more.
// Claim: WRONG_GRAD upstream of the layer, no error, exit 11.
//   skip_identity_qlora           the same as --pp 1 --skip-c-identity
#include "repro/qlora_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_qlora() {
  static const Scenario scenario{
      .name = "skip_identity_qlora",
      .title = "skip_c_identity in a quantised LoRA column layer: silent wrong gradient upstream",
      .upstream = "read in paddleformers 1.2.0, not reported",
      .model = make_model<QloraModel>(),
      .toggles = {"identity", "recompute", "pp"},
      .claim = {{"pp", "1"}, {"identity", "skip"}},
      .clean = {{"identity", "copy"}},
      .expected = {.outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
      .minimal = qlora_failures()};
  return scenario;
}

}  // namespace culprit
