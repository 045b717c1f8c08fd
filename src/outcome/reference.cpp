#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <mutex>
#include <string>
#include <tuple>

#include "base/error.hpp"
#include "outcome/reference.hpp"
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

// Below the first a gradient that is wrong altogether stays within the judge's bound: that is 1e-3 of the largest entry,
// which counts as 1e-12 at least (both as the recorded facts have it). Above the second float32 has no room for its square.
constexpr double kVanished = 1e-15;
constexpr double kOverflows = 1e18;

void refuse_unjudgeable(const Reference& reference, const std::vector<ParameterSpec>& parameters) {
  const auto refuse = [](const std::string& what) {
    throw UsageError(
        what +
        " in the one-rank reference itself, so nothing can be judged by it; choose a smaller size");
  };
  if (!(reference.loss <= kOverflows)) refuse("the loss overflows");
  for (const ParameterSpec& spec : parameters) {
    if (!spec.trainable) continue;
    double largest = 0.0;
    for (const double g : reference.grads.at(spec.name).back())
      largest = std::isnan(g) ? g : std::max(largest, std::abs(g));
    if (!(largest <= kOverflows)) refuse(fmt::format("the gradient of {} overflows", spec.name));
    if (largest < kVanished)
      refuse(fmt::format("the gradient of {} vanishes (its largest entry is {:.1e})", spec.name,
                         largest));
  }
}

double free_memory_bytes() {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("MemAvailable:")) return std::stod(line.substr(13)) * 1024;
  return std::numeric_limits<double>::infinity();
}

}  // namespace

ReferenceOps::ReferenceOps(const Cell& cell, const std::vector<ParameterSpec>& parameters,
                           std::function<void()> on_operation)
    : cell_(cell), on_operation_(std::move(on_operation)) {
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
  if (on_operation_) on_operation_();
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

void refuse_too_large(const Model& model, const Cell& cell) {
  double parameters = 0;
  for (const ParameterSpec& spec : model.parameters(cell))
    parameters += static_cast<double>(spec.shape.rows) * static_cast<double>(spec.shape.cols);
  const double activation = static_cast<double>(cell.tokens) * static_cast<double>(cell.hidden);
  // Per parameter: the value made for the upload, the engine's value and gradient, the reference's
  // value and gradient (float64) and the kept gradients of each micro-batch. Per activation: a
  // handful a block, on both paths.
  const double bytes = parameters * (4.0 + 4.0 + 4.0 + 16.0 + 8.0 * cell.acc) +
                       activation * 12.0 * 8.0 * cell.blocks;
  const double available = free_memory_bytes();
  if (bytes > available)
    throw UsageError(fmt::format(
        "this size needs about {:.1f} GiB of memory, {:.1f} GiB are free; choose a smaller one",
        bytes / (1 << 30), available / (1 << 30)));
}

Reference make_reference(const Model& model, const Cell& cell, bool keep_all,
                         const std::function<void()>& on_operation) {
  refuse_too_large(model, cell);
  const std::vector<ParameterSpec> parameters = model.parameters(cell);
  const Shape activation{cell.tokens, cell.hidden};
  ReferenceOps ops(cell, parameters, on_operation);
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
  refuse_unjudgeable(reference, parameters);
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
