// A scenario's model: what it is made of and how a stage runs it, on the engine, on the reference and on paper
// (model_program.hpp).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/engine_ops.hpp"
#include "engine/model_program.hpp"
#include "engine/parameter.hpp"
#include "pipeline/stage.hpp"

namespace culprit {

class ReferenceOps;
struct ReferenceNode;
using ReferenceValue = std::shared_ptr<ReferenceNode>;

// First and one-past-last block of one stage.
struct BlockRange {
  int first = 0;
  int end = 0;
};
inline BlockRange blocks_of_stage(int stage, const Cell& cell) {
  return {stage * cell.blocks / cell.pp, (stage + 1) * cell.blocks / cell.pp};
}

struct Model {
  // All parameters of all stages, in the order of reports.
  std::function<std::vector<ParameterSpec>(const Cell&)> parameters;
  // How many [T, H] activations a stage hands to the next.
  std::size_t boundary_width = 1;
  // Through what it hands them on; null: SendBuffer::kNone.
  std::function<SendBuffer(const Cell&)> send_buffer = {};
  // Runs `blocks`: the data (block 0) or the boundary in, the boundary or the model's output [T, H] out.
  std::function<std::vector<Tensor>(EngineOps&, BlockRange blocks, const std::vector<Tensor>& inputs)> run;
  std::function<std::vector<ReferenceValue>(ReferenceOps&, BlockRange blocks,
                                            const std::vector<ReferenceValue>& inputs)>
      run_reference;
  std::function<std::vector<ProgramValue>(ProgramOps&, BlockRange blocks, const std::vector<ProgramValue>& inputs)>
      run_program;
};

// Makes a Model of a type with `static std::vector<ParameterSpec> parameters(const Cell&)` and
// `template <class Ops> static typename Ops::Value run(Ops&, BlockRange, typename Ops::Value x)`, so that a
// model is written once and the reference can't drift from it. A type with `static constexpr std::size_t
// kBoundaryWidth` takes and gives vectors of values instead; `static SendBuffer send_buffer(const Cell&)` is
// optional. Needs outcome/reference.hpp.
template <class Definition>
Model make_model() {
  const auto run = []<class Ops>(Ops& ops, BlockRange blocks, const std::vector<typename Ops::Value>& inputs) {
    if constexpr (requires { Definition::kBoundaryWidth; })
      return Definition::template run<Ops>(ops, blocks, inputs);
    else
      return std::vector<typename Ops::Value>{Definition::template run<Ops>(ops, blocks, inputs[0])};
  };
  Model model{.parameters = &Definition::parameters, .run = run, .run_reference = run, .run_program = run};
  if constexpr (requires { Definition::kBoundaryWidth; }) model.boundary_width = Definition::kBoundaryWidth;
  if constexpr (requires { &Definition::send_buffer; }) model.send_buffer = &Definition::send_buffer;
  return model;
}

}  // namespace culprit
