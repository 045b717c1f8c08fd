#include "outcome/reference.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "tensor/matmul_f64.hpp"

namespace culprit {
namespace {

// What the ranks start from: the values as the cell's type holds them.
std::vector<double> start_values(const Cell& cell, ValueKind value_kind, int block, int term,
                                 Shape shape) {
  const std::vector<float> values = make_values(value_kind, block, term, shape);
  std::vector<double> wide(values.size());
  std::transform(values.begin(), values.end(), wide.begin(),
                 [&](float value) { return static_cast<double>(rounded(cell.dtype, value)); });
  return wide;
}

void add_to(std::vector<double>& sum, const std::vector<double>& part, double factor = 1.0) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * part[i];
}

}  // namespace

ReferenceOps::ReferenceOps(const Cell& cell, const std::vector<ParameterSpec>& parameters)
    : cell_(cell) {
  for (const auto& spec : parameters) {
    auto node = std::make_shared<ReferenceNode>();
    node->shape = spec.shape;
    node->value = start_values(cell, spec.value_kind, spec.block, spec.term, spec.shape);
    node->grad.assign(node->value.size(), 0.0);
    node->parameter = spec.name;
    parameters_.emplace(spec.name, std::move(node));
  }
}

ReferenceValue ReferenceOps::record(Shape shape, std::vector<double> value,
                                    std::vector<ReferenceValue> inputs,
                                    std::function<void(const ReferenceNode&)> pull) {
  auto node = std::make_shared<ReferenceNode>();
  node->shape = shape;
  node->value = std::move(value);
  node->grad.assign(node->value.size(), 0.0);
  node->inputs = std::move(inputs);
  node->pull = std::move(pull);
  tape_.push_back(node);
  return node;
}

ReferenceValue ReferenceOps::constant(std::vector<double> value, Shape shape) {
  return record(shape, std::move(value), {}, [](const ReferenceNode&) {});
}

ReferenceValue ReferenceOps::matmul(const ReferenceValue& x, const ReferenceValue& w) {
  const Shape shape{x->shape.rows, w->shape.cols};
  std::vector<double> y(static_cast<std::size_t>(shape.num_elements()), 0.0);
  add_matmul_f64(x->value, false, w->value, false, y, shape.rows, shape.cols, x->shape.cols);
  return record(shape, std::move(y), {x, w}, [](const ReferenceNode& node) {
    const auto &a = node.inputs[0], &b = node.inputs[1];
    add_matmul_f64(node.grad, false, b->value, true, a->grad, a->shape.rows, a->shape.cols,
                   b->shape.cols);
    add_matmul_f64(a->value, true, node.grad, false, b->grad, b->shape.rows, b->shape.cols,
                   a->shape.rows);
  });
}

ReferenceValue ReferenceOps::add(const ReferenceValue& a, const ReferenceValue& b) {
  std::vector<double> sum = a->value;
  add_to(sum, b->value);
  return record(a->shape, std::move(sum), {a, b}, [](const ReferenceNode& node) {
    add_to(node.inputs[0]->grad, node.grad);
    add_to(node.inputs[1]->grad, node.grad);
  });
}

ReferenceValue ReferenceOps::scale(const ReferenceValue& x, double factor) {
  std::vector<double> y(x->value.size(), 0.0);
  add_to(y, x->value, factor);
  return record(x->shape, std::move(y), {x}, [factor](const ReferenceNode& node) {
    add_to(node.inputs[0]->grad, node.grad, factor);
  });
}

void ReferenceOps::sweep(const ReferenceValue& root, std::vector<double> grad) {
  root->grad = std::move(grad);
  for (auto node = tape_.rbegin(); node != tape_.rend(); ++node) {
    (*node)->pull(**node);
    for (const auto& input : (*node)->inputs)
      if (!input->parameter.empty() && std::find(backward_order_.begin(), backward_order_.end(),
                                                 input->parameter) == backward_order_.end())
        backward_order_.push_back(input->parameter);
  }
  tape_.clear();
}

Reference make_reference(const Model& model, const Cell& cell, bool keep_all) {
  const std::vector<ParameterSpec> parameters = model.parameters(cell);
  const Shape activation{cell.tokens, cell.hidden};
  ReferenceOps ops(cell, parameters);
  Reference reference;
  for (int m = 0; m < cell.acc; ++m) {
    const auto x = ops.constant(start_values(cell, ValueKind::kData, m, 0, activation), activation);
    const auto y = model.run_reference(ops, {0, cell.blocks}, {x}).at(0);
    // Mean of squares over the micro-batch, divided by the number of micro-batches.
    std::vector<double> off = y->value;
    add_to(off, start_values(cell, ValueKind::kTarget, m, 0, activation), -1.0);
    const double count = static_cast<double>(activation.num_elements()) * cell.acc;
    for (const double d : off) reference.loss += d * d / count;
    for (double& d : off) d *= 2.0 / count;
    ops.sweep(y, std::move(off));
    if (keep_all || m == cell.acc - 1)
      for (const auto& spec : parameters)
        reference.grads[spec.name].push_back(ops.parameter(spec.name)->grad);
  }
  reference.backward_order = ops.backward_order();
  return reference;
}

// Everything that may change a reference's numbers.
using ShapeKey = std::tuple<int, int, int, int, int, Tail, bool, bool, DType,
                            std::map<std::string, std::string>>;

struct ReferenceCache::Impl {
  std::mutex mutex;
  std::map<ShapeKey, std::shared_ptr<const Reference>> made;
};
std::shared_ptr<ReferenceCache::Impl> ReferenceCache::make_impl() {
  return std::make_shared<Impl>();
}

std::shared_ptr<const Reference> ReferenceCache::get(const Cell& cell) {
  const ShapeKey key{cell.acc,  cell.blocks,   cell.hidden, cell.tokens, cell.fan_out,
                     cell.tail, cell.residual, cell.embed,  cell.dtype,  cell.extra};
  const std::lock_guard lock(impl_->mutex);
  auto& entry = impl_->made[key];
  if (!entry) entry = std::make_shared<Reference>(make_reference(model_, cell, /*keep_all=*/false));
  return entry;
}

}  // namespace culprit
