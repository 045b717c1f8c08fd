// A timing fault: the overlap linear's backward hands dx on before the all-reduce that it started
// has ended (no report; the wait is left out for real). On CPU threads a collective's result is
// taken at its wait, so dx stays this rank's part and the fault shows always. On a GPU the reader
// of dx and the collective race on two streams. Claim: WRONG_GRAD upstream of the layer, no error,
// exit 11.
//   overlap_unwaited_reduce       the same as --pp 1 --wait=left_out
#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

struct UnwaitedModel {
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    return StackModel::parameters(cell);
  }

  template <class Ops>
  static typename Ops::Value block(Ops& ops, int b, const typename Ops::Value& x) {
    const OverlapWait wait = own_value(ops.cell(), "wait") == "left_out" ? OverlapWait::kLeftOut
                                                                         : OverlapWait::kBeforeUse;
    auto y = ops.overlap_linear(x, column_name(b, 0), wait);
    for (int j = 1; j < ops.cell().fan_out; ++j)
      y = ops.add(y, ops.overlap_linear(x, column_name(b, j), wait));
    y = ops.cell().tail == Tail::kRow ? ops.row_linear(y, row_name(b)) : ops.gather(y);
    return ops.cell().residual ? ops.add(y, x) : y;
  }

  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    return run_stack(ops, blocks, x, block<Ops>);
  }
};

}  // namespace

const Scenario& overlap_unwaited_reduce() {
  static const Scenario scenario{
      .name = "overlap_unwaited_reduce",
      .title =
          "overlap linear that does not wait for its all-reduce: silent wrong gradient upstream",
      .upstream = "a timing fault of this project's own making, not reported",
      .model = make_model<UnwaitedModel>(),
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
