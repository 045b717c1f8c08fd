// The model of the recorded facts (tests/data/README.md): a replicated embedding, then blocks of
// column-parallel linears and a tail. Letters: T tokens, D hidden, tp tensor-parallel ranks.
#pragma once

#include <string>
#include <vector>

#include "engine/model.hpp"
#include "outcome/reference.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

inline std::string column_name(int block, int term) {
  return "col" + std::to_string(block) + "." + std::to_string(term);
}
inline std::string row_name(int block) { return "row" + std::to_string(block); }

// The embedding's [D, D] parameter, if the cell has one.
inline void add_embedding(std::vector<ParameterSpec>& list, const Cell& cell) {
  if (cell.embed)
    list.push_back({.name = "embed", .value_kind = ValueKind::kEmbedding, .shape = {cell.hidden, cell.hidden}});
}

// x [T, D] through the embedding where `blocks` begins the model, then through each block under the
// cell's recomputation.
template <class Ops, class BlockFunction>
typename Ops::Value run_stack(Ops& ops, BlockRange blocks, typename Ops::Value x, BlockFunction block) {
  if (blocks.first == 0 && ops.cell().embed) x = ops.matmul(x, ops.parameter("embed"));
  for (int b = blocks.first; b < blocks.end; ++b)
    x = ops.recompute([&ops, block, b](const typename Ops::Value& in) { return block(ops, b, in); }, x);
  return x;
}

struct StackModel {
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    const Shape square{cell.hidden, cell.hidden};
    std::vector<ParameterSpec> list;
    add_embedding(list, cell);
    for (int b = 0; b < cell.blocks; ++b)
      for (int j = 0; j < cell.fan_out; ++j)
        list.push_back({.name = column_name(b, j), .value_kind = ValueKind::kColumn, .block = b, .term = j,
                        .split = Split::kColumns, .shape = square});
    for (int b = 0; b < cell.blocks && cell.tail == Tail::kRow; ++b)
      list.push_back({.name = row_name(b), .value_kind = ValueKind::kRow, .block = b, .split = Split::kRows,
                      .shape = square});
    return list;
  }

  template <class Ops>
  static typename Ops::Value block(Ops& ops, int b, const typename Ops::Value& x) {
    const Cell& cell = ops.cell();
    const auto h = cell.first_op == FirstOp::kScale ? ops.scale(x, 1.0) : x;
    auto y = ops.column_linear(h, column_name(b, 0));
    for (int j = 1; j < cell.fan_out; ++j) y = ops.add(y, ops.column_linear(h, column_name(b, j)));
    y = cell.tail == Tail::kRow ? ops.row_linear(y, row_name(b)) : ops.gather(y);
    return cell.residual ? ops.add(y, x) : y;
  }

  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    return run_stack(ops, blocks, x, block<Ops>);
  }
};

// Of scenarios that leave out a wait: kept | left_out. One toggle of one meaning, as the runs of all scenarios share
// their flags.
inline Field wait_toggle() {
  return own_toggle("wait", {"kept", "left_out"}, "the wait that the scenario's fault leaves out");
}

// The minimal failing combinations of skip_c_identity in this model, beside a scenario's own.
inline std::vector<DeclaredFailure> with_reported(std::vector<DeclaredFailure> list) {
  list.push_back({.switches = {{"identity", "skip"}, {"residual", "1"}},
                  .outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"});
  list.push_back({.switches = {{"identity", "skip"}, {"recompute", "reentrant"}},
                  .outcome = OutcomeClass::kError, .kind = "LEAF_INPLACE", .phase = "recompute"});
  list.push_back({.switches = {{"identity", "skip"}, {"pp", "2"}},
                  .outcome = OutcomeClass::kError, .kind = "LEAF_INPLACE", .phase = "forward"});
  return list;
}

}  // namespace culprit
