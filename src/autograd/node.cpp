#include "autograd/node.hpp"

namespace culprit {

// A long chain of nodes must not be destroyed by recursion: hand the edges of every node that dies with
// us to one list.
Node::~Node() {
  std::vector<std::shared_ptr<Node>> dying;
  const auto adopt = [&dying](std::vector<Edge>& edges) {
    for (auto& edge : edges)
      if (edge.node && edge.node.use_count() == 1) dying.push_back(std::move(edge.node));
    edges.clear();
  };
  adopt(edges_);
  while (!dying.empty()) {
    const auto node = std::move(dying.back());
    dying.pop_back();
    adopt(node->edges_);
  }
}

void Node::take_edges(const std::vector<Tensor>& inputs) {
  edges_.clear();
  for (const auto& input : inputs) {
    if (!input.defined() || input.stop_gradient()) {
      edges_.emplace_back();
      continue;
    }
    require_history(input);
    auto& object = *input.object();
    if (!object.node) {
      object.node = std::make_shared<AccumulationNode>(input);
      object.node->output_shapes_ = {input.shape()};
      object.slot = 0;
    }
    edges_.push_back({object.node, object.slot});
  }
}

void Node::set_history(const std::shared_ptr<Node>& node, const std::vector<Tensor>& outputs) {
  node->output_shapes_.clear();
  for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
    node->output_shapes_.push_back(outputs[slot].defined() ? outputs[slot].shape() : Shape{});
    if (!outputs[slot].defined()) continue;
    auto& object = *outputs[slot].object();
    object.stop_gradient = false;
    object.node = node;
    object.slot = slot;
  }
}

std::vector<Tensor> AccumulationNode::backward(Context& context, const std::vector<Tensor>& grads) {
  const auto leaf = leaf_.lock();
  if (!leaf || !grads[0].defined()) return {};
  const auto& arrived = grads[0].impl();
  if (!leaf->grad && !context.rules().add_shares_gradient) {
    leaf->grad = arrived;
    return {};
  }
  if (!leaf->grad) {
    leaf->grad = context.allocate(arrived->shape());
    context.backend().scale(1.0F, arrived->data(), leaf->grad->data(), arrived->num_elements());
    return {};
  }
  auto total = context.allocate(arrived->shape());
  context.backend().add(1.0F, leaf->grad->data(), 1.0F, arrived->data(), total->data(),
                        total->num_elements());
  leaf->grad = std::move(total);
  return {};
}

void require_history(const Tensor& tensor) {
  const auto& object = *tensor.object();
  if (!object.made_by_function || tensor.released() || object.impl->inplace_version() == object.made_at_version) return;
  throw SubjectError(kind::kViewInplace,
                     "Output 0 of " + object.node->name() +
                         " is a view and its base or another view of its base has been modified inplace. This view was "
                         "created inside a custom Function (or because an input was returned as-is)");
}

bool Tensor::is_leaf() const { return !object_->node || object_->node->is_accumulation(); }

bool needs_history(const Context& context, const std::vector<Tensor>& inputs) {
  if (!context.grad_enabled()) return false;
  for (const auto& input : inputs)
    if (input.defined() && !input.stop_gradient()) return true;
  return false;
}

}  // namespace culprit
