// The overlap linear on data that needs no gradient, that is with nothing trainable before it (measured):
// its backward returns dx whatever x needs.
// Claim: GRAD_FOR_STOPPED_INPUT in backward 0, exit 10.
//   overlap_stopped_input         the same as --pp 1 --path overlap --no-embed
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

const Scenario& overlap_stopped_input() {
  static const Scenario scenario{
      .name = "overlap_stopped_input",
      .title = "overlap linear on an input that stops gradients",
      .upstream = "measured on PaddlePaddle 2.6.2 and 3.3.1, not reported",
      .model = make_model<StackModel>(),
      .toggles = {"path", "embed", "pp", "first_op", "residual"},
      .claim = {{"pp", "1"}, {"path", "overlap"}, {"embed", "0"}},
      .clean = {{"embed", "1"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "GRAD_FOR_STOPPED_INPUT", .phase = "backward"},
      .minimal = {
          {.switches = {{"path", "overlap"}, {"embed", "0"}},
           .outcome = OutcomeClass::kError, .kind = "GRAD_FOR_STOPPED_INPUT", .phase = "backward"}}};
  return scenario;
}

}  // namespace culprit
