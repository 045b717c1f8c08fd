// The reference: the same model on one rank, float64, no toggles. An independent code path: values
// are immutable, there are no handles, versions, collectives or in-place writes to get wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/cell.hpp"
#include "engine/model.hpp"

namespace culprit {

struct ReferenceNode {
  Shape shape;
  std::vector<double> value;
  std::vector<double> grad;  // filled by the reverse sweep
  std::string parameter;     // its name, for parameters
  std::vector<ReferenceValue> inputs;
  // Adds this node's grad to its inputs' grads.
  std::function<void(const ReferenceNode&)> pull;
};

// The operators of EngineOps, on one rank: a parallel linear is a plain product with the whole
// weight, identity, gather and recompute change nothing.
class ReferenceOps {
 public:
  using Value = ReferenceValue;

  ReferenceOps(const Cell& cell, const std::vector<ParameterSpec>& parameters,
               std::function<void()> on_operation = {});

  const Cell& cell() const { return cell_; }
  ReferenceValue parameter(const std::string& name) const { return parameters_.at(name); }
  ReferenceValue constant(std::vector<double> value, Shape shape);
  ReferenceValue matmul(const ReferenceValue& x, const ReferenceValue& w);
  ReferenceValue add(const ReferenceValue& a, const ReferenceValue& b);
  ReferenceValue scale(const ReferenceValue& x, double factor);
  ReferenceValue identity(const ReferenceValue& x) { return x; }
  ReferenceValue column_linear(const ReferenceValue& x, const std::string& weight) {
    return matmul(x, parameter(weight));
  }
  ReferenceValue overlap_linear(const ReferenceValue& x, const std::string& weight, OverlapWait) {
    return matmul(x, parameter(weight));
  }
  ReferenceValue scaled_overlap_linear(const ReferenceValue& x, const std::string& weight,
                                       double factor, OverlapWait) {
    return matmul(scale(x, factor), parameter(weight));
  }
  ReferenceValue frozen_column_linear(const ReferenceValue& x, const std::string& weight) {
    return matmul(x, parameter(weight));
  }
  ReferenceValue row_linear(const ReferenceValue& x, const std::string& weight) {
    return matmul(x, parameter(weight));
  }
  ReferenceValue gather(const ReferenceValue& x) { return x; }
  ReferenceValue recompute(const std::function<ReferenceValue(const ReferenceValue&)>& block,
                           const ReferenceValue& x) {
    return block(x);
  }

  // Reverse sweep from `root` with the given gradient; parameter gradients add up over sweeps.
  // Forgets all other values made since the last sweep.
  void sweep(const ReferenceValue& root, std::vector<double> grad);
  // Trainable or not, in the order in which the sweep first reached them.
  const std::vector<std::string>& backward_order() const { return backward_order_; }

 private:
  ReferenceValue record(Shape shape, std::vector<double> value, std::vector<ReferenceValue> inputs,
                        std::function<void(const ReferenceNode&)> pull);

  const Cell& cell_;
  std::function<void()> on_operation_;
  std::map<std::string, ReferenceValue> parameters_;
  std::vector<ReferenceValue> tape_;
  std::vector<std::string> backward_order_;
};

struct Reference {
  double loss = 0.0;
  // By parameter name, whole: the gradient accumulated after each micro-batch; back() is the
  // step's.
  std::map<std::string, std::vector<std::vector<double>>> grads;
  std::vector<std::string> backward_order;
};

// Errors: UsageError when one step of this cell needs more memory than the machine has free
// (engine, reference and gradients of all ranks together; an estimate from the parameters and
// activations).
void refuse_too_large(const Model& model, const Cell& cell);

// Runs the model of the cell's shape; ignores every toggle that must not change numbers.
// `keep_all`: keep the gradients after each micro-batch, not only the last. `on_operation` is
// called after each operation: at large sizes the reference takes long, and its time must not look
// like a rank that hangs. Errors: as refuse_too_large; UsageError when loss or gradients overflow
// or vanish in the reference itself, so that nothing can be judged by it.
Reference make_reference(const Model& model, const Cell& cell, bool keep_all,
                         const std::function<void()>& on_operation = {});

// References of the same model by shape, so that a file of cells makes each once. Thread-safe.
class ReferenceCache {
 public:
  explicit ReferenceCache(const Model& model) : model_(model) {}
  std::shared_ptr<const Reference> get(const Cell& cell);

 private:
  const Model& model_;
  struct Impl;
  std::shared_ptr<Impl> impl_ = make_impl();
  static std::shared_ptr<Impl> make_impl();
};

}  // namespace culprit
