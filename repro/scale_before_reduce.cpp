// A timing fault: a layer that works on its input divided by a constant (a loss scale) all-reduces
// dx on a stream of its own, and divides it on the compute stream without waiting for that (no
// report; the wait is there, but comes after the division). On CPU threads and processes a
// collective's result is taken at its wait, so the division is written over and the fault shows
// always. On a GPU the division and the collective race over dx. Claim: WRONG_GRAD upstream of the
// layer, no error, exit 11.
//   scale_before_reduce       the same as --pp 1 --wait=left_out
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

constexpr double kLossScale = 4.0;

struct ScaledModel {
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    return StackModel::parameters(cell);
  }

  template <class Ops>
  static typename Ops::Value block(Ops& ops, int b, const typename Ops::Value& x) {
    const OverlapWait wait = own_value(ops.cell(), "wait") == "left_out" ? OverlapWait::kLeftOut
                                                                         : OverlapWait::kBeforeUse;
    auto y = ops.scaled_overlap_linear(x, column_name(b, 0), 1.0 / kLossScale, wait);
    for (int j = 1; j < ops.cell().fan_out; ++j)
      y = ops.add(y, ops.scaled_overlap_linear(x, column_name(b, j), 1.0 / kLossScale, wait));
    y = ops.cell().tail == Tail::kRow ? ops.row_linear(y, row_name(b)) : ops.gather(y);
    return ops.cell().residual ? ops.add(y, x) : y;
  }

  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    return run_stack(ops, blocks, x, block<Ops>);
  }
};

}  // namespace

const Scenario& scale_before_reduce() {
  static const Scenario scenario{
      .name = "scale_before_reduce",
      .title =
          "gradient divided by its scale before its all-reduce has ended: silent wrong "
          "gradient upstream",
      .upstream = "a timing fault of this project's own making, not reported",
      .model = make_model<ScaledModel>(),
      .own_toggles = {wait_toggle()},
      .toggles = {"wait", "recompute", "pp", "residual"},
      .claim = {{"pp", "1"}, {"wait", "left_out"}},
      .clean = {{"wait", "kept"}},
      .expected = {.outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
      .minimal = {{.switches = {{"wait", "left_out"}},
                   .outcome = OutcomeClass::kWrongGrad,
                   .kind = "",
                   .phase = "backward"}}};
  return scenario;
}

}  // namespace culprit
