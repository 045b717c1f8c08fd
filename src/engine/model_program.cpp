#include "engine/model_program.hpp"

#include <utility>

#include "engine/model.hpp"

namespace culprit {

ProgramValue ProgramOps::call(OperatorCall call) {
  call.output = new_value();
  calls_.push_back(std::move(call));
  return calls_.back().output;
}

std::vector<OperatorCall> ProgramOps::take_calls() { return std::exchange(calls_, {}); }

ProgramValue ProgramOps::recompute(const std::function<Value(const Value&)>& block,
                                   const Value& x) {
  std::vector<OperatorCall> around = take_calls();
  Routine routine;
  routine.inputs = {new_value()};
  routine.outputs = {block(routine.inputs[0])};
  routine.calls = take_calls();
  calls_ = std::move(around);
  // Blocks inside this one have been added already.
  program_.blocks.push_back(std::move(routine));
  return call(
      {.op = ModelOperator::kRecompute, .inputs = {x}, .block = program_.blocks.size() - 1});
}

ModelProgram model_program(const Model& model, const Cell& cell) {
  ModelProgram program;
  ProgramOps ops(cell, program);
  for (int stage = 0; stage < cell.pp; ++stage) {
    Routine routine;
    const std::size_t num_inputs = stage == 0 ? 1 : model.boundary_width;
    for (std::size_t i = 0; i < num_inputs; ++i) routine.inputs.push_back(ops.new_value());
    routine.outputs = model.run_program(ops, blocks_of_stage(stage, cell), routine.inputs);
    routine.calls = ops.take_calls();
    program.stages.push_back(std::move(routine));
  }
  return program;
}

}  // namespace culprit
