// A timing fault: a pipeline stage sends its activation half by half through one buffer, and writes
// the second half into it while the first is still on its way (no report; the wait for the first
// send is left out for real). A message that nobody waits for is read when its sender next waits for
// anything, as a large one that its receiver has yet to fetch: the next stage gets the second half
// twice. On the CPU that shows always; on a GPU the copy out of the buffer and the copy into it are
// on two streams, and race.
// Claim: WRONG_LOSS, no error, exit 13.
//   send_buffer_reused       the same as --pp 2 --wait=left_out
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

struct BufferedModel : StackModel {
  static SendBuffer send_buffer(const Cell& cell) {
    return own_value(cell, "wait") == "left_out" ? SendBuffer::kOneNotWaited
                                                 : SendBuffer::kOneWaited;
  }
};

}  // namespace

const Scenario& send_buffer_reused() {
  static const Scenario scenario{
      .name = "send_buffer_reused",
      .title =
          "pipeline send buffer written again while its message is in flight: silent wrong "
          "loss",
      .upstream = "a timing fault of this project's own making, not reported",
      .model = make_model<BufferedModel>(),
      .own_toggles = {wait_toggle()},
      .toggles = {"wait", "recompute", "pp", "residual"},
      .claim = {{"pp", "2"}, {"wait", "left_out"}},
      .clean = {{"wait", "kept"}},
      .expected = {.outcome = OutcomeClass::kWrongLoss, .kind = "", .phase = ""},
      .minimal = {{.switches = {{"wait", "left_out"}, {"pp", "2"}},
                   .outcome = OutcomeClass::kWrongLoss,
                   .kind = "",
                   .phase = ""}}};
  return scenario;
}

}  // namespace culprit
