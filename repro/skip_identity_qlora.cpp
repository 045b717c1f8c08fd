// A quantised LoRA column layer (read in paddleformers 1.2.0): u = identity(x); y = u W (frozen) +
// identity(x A) B, where x is used again after its identity. With skip the identity returns x
// itself, whose history is rebased, so the low-rank branch's gradient is all-reduced once more.
// Claim: WRONG_GRAD upstream of the layer, no error, exit 11.
//   skip_identity_qlora           the same as --pp 1 --skip-c-identity
#include <algorithm>

#include "repro/stack_model.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

// Rank-R adapters beside a frozen base weight. A [D, R] is replicated, B [R, D] is split by
// columns.
struct QloraModel {
  static std::vector<ParameterSpec> parameters(const Cell& cell) {
    const int rank = std::max(1, cell.hidden / 4);
    std::vector<ParameterSpec> list;
    add_embedding(list, cell);
    for (int b = 0; b < cell.blocks; ++b) {
      const std::string n = std::to_string(b);
      list.push_back({.name = "base" + n,
                      .value_kind = ValueKind::kColumn,
                      .block = b,
                      .split = Split::kColumns,
                      .shape = {cell.hidden, cell.hidden},
                      .trainable = false});
      list.push_back({.name = "loraA" + n,
                      .value_kind = ValueKind::kEmbedding,
                      .block = b,
                      .term = 1,
                      .shape = {cell.hidden, rank}});
      list.push_back({.name = "loraB" + n,
                      .value_kind = ValueKind::kEmbedding,
                      .block = b,
                      .term = 2,
                      .split = Split::kColumns,
                      .shape = {rank, cell.hidden}});
    }
    return list;
  }

  template <class Ops>
  static typename Ops::Value block(Ops& ops, int b, const typename Ops::Value& x) {
    const std::string n = std::to_string(b);
    const auto base = ops.column_linear(x, "base" + n);
    const auto low_rank = ops.identity(ops.matmul(x, ops.parameter("loraA" + n)));
    return ops.gather(ops.add(base, ops.matmul(low_rank, ops.parameter("loraB" + n))));
  }

  template <class Ops>
  static typename Ops::Value run(Ops& ops, BlockRange blocks, typename Ops::Value x) {
    return run_stack(ops, blocks, x, block<Ops>);
  }
};

}  // namespace

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
      .minimal = {{.switches = {{"identity", "skip"}},
                   .outcome = OutcomeClass::kWrongGrad,
                   .kind = "",
                   .phase = "backward"}}};
  return scenario;
}

}  // namespace culprit
