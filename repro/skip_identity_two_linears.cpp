// Two column linears on one input (measured): each identity bumps the in-place version of the input that
// the first matmul has saved.
// Claim: INPLACE_VERSION in backward 0, exit 10.
//   skip_identity_two_linears     the same as --pp 1 --skip-c-identity --fan-out 2
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& skip_identity_two_linears() {
  static const Scenario scenario{
      .name = "skip_identity_two_linears",
      .title = "skip_c_identity + two linears on one input: version error",
      .upstream = "measured on PaddlePaddle 2.6.2 and 3.3.1, not reported",
      .model = make_model<StackModel>(),
      .toggles = {"identity", "fan_out", "recompute", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"identity", "skip"}, {"fan_out", "2"}},
      .clean = {{"fan_out", "1"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "INPLACE_VERSION", .phase = "backward"},
      .minimal = with_reported({{.switches = {{"identity", "skip"}, {"fan_out", "2"}},
                                 .outcome = OutcomeClass::kError, .kind = "INPLACE_VERSION", .phase = "backward"}})};
  return scenario;
}

}  // namespace culprit
