// The same under non-reentrant recompute (measured): what the second run saves is not version-checked, so
// the version error becomes a silent wrong gradient.
// Claim: WRONG_GRAD, no error, exit 11.
//   skip_identity_two_linears_nonreentrant   the same as --pp 1 --skip-c-identity --fan-out 2
//                                            --recompute=nonreentrant
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_two_linears_nonreentrant() {
  static const Scenario scenario{
      .name = "skip_identity_two_linears_nonreentrant",
      .title = "skip_c_identity + two linears + non-reentrant recompute: silent wrong gradient",
      .upstream = "measured on PaddlePaddle 2.6.2 and 3.3.1, not reported",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "fan_out", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"identity", "skip"}, {"fan_out", "2"}, {"recompute", "nonreentrant"}},
      .clean = {{"identity", "copy"}},
      .expected = {.outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
      .minimal = with_reported({{.switches = {{"identity", "skip"}, {"fan_out", "2"}},
                                 .outcome = OutcomeClass::kError, .kind = "INPLACE_VERSION", .phase = "backward"}})};
  return scenario;
}

}  // namespace culprit
