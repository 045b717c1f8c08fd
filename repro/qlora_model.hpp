// A quantised LoRA column layer a block (read in paddleformers 1.2.0 and run there, docs/parity.md): u = identity(x);
// y = u W (frozen) + identity(x A) B, where x is used again after its identity.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {

// Rank-R adapters beside a frozen base weight. A [D, R] is replicated, B [R, D] is split by columns.
struct QloraModel {
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    const int rank = std::max(1, cell.hidden / 4);
    std::vector<ParameterSpec> list;
    add_embedding(list, cell);
    for (int b = 0; b < cell.blocks; ++b) {
      const std::string n = std::to_string(b);
      list.push_back({.name = "base" + n, .value_kind = ValueKind::kColumn, .block = b, .split = Split::kColumns,
                      .shape = {cell.hidden, cell.hidden}, .trainable = false});
      list.push_back({.name = "loraA" + n, .value_kind = ValueKind::kEmbedding, .block = b, .term = 1,
                      .shape = {cell.hidden, rank}});
      list.push_back({.name = "loraB" + n, .value_kind = ValueKind::kEmbedding, .block = b, .term = 2,
                      .split = Split::kColumns, .shape = {rank, cell.hidden}});
    }
    return list;
  }

  template <class Ops>
  static typename Ops::Value block(Ops& ops, int b, const typename Ops::Value& x) {
    const std::string n = std::to_string(b);
    const auto base = ops.frozen_column_linear(x, "base" + n);
    const auto low_rank = ops.identity(ops.matmul(x, ops.parameter("loraA" + n)));
    return ops.gather(ops.add(base, ops.matmul(low_rank, ops.parameter("loraB" + n))));
  }

  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    return run_stack(ops, blocks, x, block<Ops>);
  }
};

// What fails in this model, each switch alone.
inline std::vector<DeclaredFailure> qlora_failures() {
  return {{.switches = {{"identity", "skip"}}, .outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"},
          {.switches = {{"recompute", "nonreentrant"}},
           .outcome = OutcomeClass::kWrongGrad, .kind = "", .phase = "backward"}};
}

}  // namespace culprit
