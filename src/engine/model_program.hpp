// A model written down instead of run: the operators that each stage calls, in order. What text
// about a model (a stand-alone reproduction) is made from, so that it can't drift from what the
// engine runs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "config/cell.hpp"
#include "parallel/regions.hpp"

namespace culprit {

struct Model;

enum class ModelOperator {
  kMatmul,
  kAdd,
  kScale,
  kIdentity,
  kColumnLinear,
  kFrozenColumnLinear,
  kOverlapLinear,
  kRowLinear,
  kGather,
  kRecompute
};

// What an operator takes or gives. Equal ids are the same value; a value is given once.
struct ProgramValue {
  int id = -1;
  std::string parameter;  // its name, for a parameter; empty for an activation
};

struct OperatorCall {
  ModelOperator op = ModelOperator::kMatmul;
  std::vector<ProgramValue>
      inputs;             // activations and parameters; of a parallel linear: x, the weight
  double factor = 1.0;    // kScale
  std::size_t block = 0;  // kRecompute: index into ModelProgram::blocks
  ProgramValue output = {};
};

struct Routine {
  std::vector<ProgramValue> inputs;
  std::vector<OperatorCall> calls;
  std::vector<ProgramValue> outputs;
};

struct ModelProgram {
  std::vector<Routine> stages;
  // What ran inside ops.recompute, in the order of the calls, under any kind of recomputation. A
  // block may use values of the routine around it: it captures them.
  std::vector<Routine> blocks;
};

// The operators of EngineOps, written down.
class ProgramOps {
 public:
  using Value = ProgramValue;

  ProgramOps(const Cell& cell, ModelProgram& program) : cell_(cell), program_(program) {}

  const Cell& cell() const { return cell_; }
  Value parameter(const std::string& name) const { return {.id = -1, .parameter = name}; }
  Value matmul(const Value& x, const Value& w) {
    return call({.op = ModelOperator::kMatmul, .inputs = {x, w}});
  }
  Value add(const Value& a, const Value& b) {
    return call({.op = ModelOperator::kAdd, .inputs = {a, b}});
  }
  Value scale(const Value& x, double factor) {
    return call({.op = ModelOperator::kScale, .inputs = {x}, .factor = factor});
  }
  Value identity(const Value& x) { return call({.op = ModelOperator::kIdentity, .inputs = {x}}); }
  Value column_linear(const Value& x, const std::string& weight) {
    return call({.op = ModelOperator::kColumnLinear, .inputs = {x, parameter(weight)}});
  }
  Value frozen_column_linear(const Value& x, const std::string& weight) {
    return call({.op = ModelOperator::kFrozenColumnLinear, .inputs = {x, parameter(weight)}});
  }
  Value overlap_linear(const Value& x, const std::string& weight, OverlapWait) {
    return call({.op = ModelOperator::kOverlapLinear, .inputs = {x, parameter(weight)}});
  }
  Value scaled_overlap_linear(const Value& x, const std::string& weight, double factor,
                              OverlapWait wait) {
    return overlap_linear(scale(x, factor), weight, wait);
  }
  Value row_linear(const Value& x, const std::string& weight) {
    return call({.op = ModelOperator::kRowLinear, .inputs = {x, parameter(weight)}});
  }
  Value gather(const Value& x) { return call({.op = ModelOperator::kGather, .inputs = {x}}); }
  Value recompute(const std::function<Value(const Value&)>& block, const Value& x);

  Value new_value() { return {.id = num_values_++, .parameter = {}}; }
  // The calls made since the last take, which become a routine's.
  std::vector<OperatorCall> take_calls();

 private:
  Value call(OperatorCall call);

  const Cell& cell_;
  ModelProgram& program_;
  std::vector<OperatorCall> calls_;
  int num_values_ = 0;
};

// Every stage of the model at this cell.
ModelProgram model_program(const Model& model, const Cell& cell);

}  // namespace culprit
