// A closure that captured a tensor the stage sends and then releases (Paddle pull request 78531): the
// second run of the recomputed block reads released data.
// Claim: USE_AFTER_RELEASE in the recompute of micro-batch 0 in stage 0, exit 10. Capturing a copy
// keeps it readable. (Under reentrant recompute such a closure fails by itself: the inner
// backward runs through the captured tensor's history and frees it.)
//   released_tensor_read          the same as --pp 2 --release --recompute=nonreentrant --capture=sent
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

// Stages hand on h and a side value; each block captures the side value instead of taking it as an argument.
struct CapturedModel {
  static constexpr std::size_t kBoundaryWidth = 2;
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    std::vector<ParameterSpec> list;
    add_embedding(list, cell);
    for (int b = 0; b < cell.blocks; ++b)
      list.push_back({.name = "dense" + std::to_string(b), .value_kind = ValueKind::kColumn, .block = b,
                      .shape = {cell.hidden, cell.hidden}});
    return list;
  }

  template <class Ops>
  static std::vector<typename Ops::Value> run(Ops& ops, BlockRange blocks,
                                              const std::vector<typename Ops::Value>& inputs) {
    using Value = typename Ops::Value;
    const bool begins = blocks.first == 0;
    Value h = begins && ops.cell().embed ? ops.matmul(inputs[0], ops.parameter("embed")) : inputs[0];
    const Value side = begins ? ops.scale(h, 0.5) : inputs[1];
    const Value captured = own_value(ops.cell(), "capture") == "sent" ? side : ops.scale(side, 1.0);
    for (int b = blocks.first; b < blocks.end; ++b)
      h = ops.recompute(
          [&ops, captured, b](const Value& x) {
            return ops.matmul(ops.add(x, captured), ops.parameter("dense" + std::to_string(b)));
          },
          h);
    if (blocks.end == ops.cell().blocks) return {h};
    return {h, side};
  }
};

bool reads_what_was_sent(const Cell& cell) {
  return cell.pp > 1 && cell.release && cell.recompute != RecomputeKind::kNone && own_value(cell, "capture") == "sent";
}

}  // namespace

const Scenario& released_tensor_read() {
  static const Scenario scenario{
      .name = "released_tensor_read",
      .title = "recompute of a closure that captured a released tensor",
      .upstream = "PaddlePaddle/Paddle pull request 78531",
      .model = make_model<CapturedModel>(),
      .own_toggles = {own_toggle("capture", {"copy", "sent"}, "what a block captures: a copy, or the very tensor sent")},
      .toggles = {"capture", "release", "recompute", "pp"},
      .claim = {{"pp", "2"}, {"release", "1"}, {"recompute", "nonreentrant"}, {"capture", "sent"}},
      .clean = {{"release", "0"}},
      .expected = {.outcome = OutcomeClass::kError, .kind = "USE_AFTER_RELEASE", .phase = "recompute"},
      .minimal = {
          {.switches = {{"recompute", "reentrant"}},
           .outcome = OutcomeClass::kError, .kind = "GRAPH_FREED", .phase = "backward"},
          {.switches = {{"capture", "sent"}, {"pp", "2"}, {"release", "1"}, {"recompute", "nonreentrant"}},
           .outcome = OutcomeClass::kError, .kind = "USE_AFTER_RELEASE", .phase = "recompute"}},
      .reads_released_output = reads_what_was_sent};
  return scenario;
}

}  // namespace culprit
