#include "autograd/backward.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "autograd/node.hpp"

namespace culprit {
namespace {

// What a node waits for and what has arrived, one gradient a slot.
struct Pending {
  std::size_t unfinished_consumers = 0;
  std::vector<Tensor> grads;
};
using PendingMap = std::unordered_map<Node*, Pending>;

PendingMap count_consumers(const std::deque<std::shared_ptr<Node>>& roots) {
  PendingMap pending;
  std::vector<Node*> stack;
  for (const auto& root : roots) {
    pending[root.get()].grads.resize(root->output_shapes().size());
    stack.push_back(root.get());
  }
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const auto& edge : node->edges()) {
      if (!edge.node) continue;
      const auto [entry, is_new] = pending.try_emplace(edge.node.get());
      ++entry->second.unfinished_consumers;
      if (!is_new) continue;
      entry->second.grads.resize(edge.node->output_shapes().size());
      stack.push_back(edge.node.get());
    }
  }
  return pending;
}

void accumulate(Context& context, Tensor& slot, const Tensor& grad) {
  if (!slot.defined()) {
    slot = grad;
    return;
  }
  auto total = context.allocate(grad.shape());
  context.backend().add(1.0F, slot.impl()->data(), 1.0F, grad.impl()->data(), total->data(),
                        total->num_elements());
  slot = context.wrap(std::move(total));
}

// Whether the node is left out because no gradient arrived: what it gives on is none (rule 25).
bool passes_none_on(const Context& context, const Node& node, const std::vector<Tensor>& grads) {
  return context.rules().missing_gradient_stays_none && !node.is_custom_function() &&
         std::none_of(grads.begin(), grads.end(), [](const Tensor& grad) { return grad.defined(); });
}

// Takes the node that runs next: the front, or under rule 28 the one that was made last.
std::shared_ptr<Node> take_next(const Context& context, std::deque<std::shared_ptr<Node>>& ready) {
  auto next = ready.begin();
  if (context.rules().newest_node_first && !(*next)->is_accumulation())
    next = std::max_element(ready.begin(), ready.end(),
                            [](const auto& a, const auto& b) { return a->number() < b->number(); });
  std::shared_ptr<Node> node = std::move(*next);
  ready.erase(next);
  return node;
}

// Rule 4: what a reached node gets where no gradient arrived.
void fill_missing(Context& context, const Node& node, std::vector<Tensor>& grads) {
  for (std::size_t slot = 0; slot < grads.size(); ++slot) {
    if (grads[slot].defined()) continue;
    switch (node.missing_gradient()) {
      case MissingGradient::kStaysNone:
        break;
      case MissingGradient::kCrashes:
        throw ModelledCrash("SIGSEGV", node.name() + " reads a gradient that no consumer gave");
      case MissingGradient::kZeros: {
        auto zeros = context.allocate(node.output_shapes()[slot]);
        context.backend().fill(0.0F, zeros->data(), zeros->num_elements());
        grads[slot] = context.wrap(std::move(zeros));
      }
    }
  }
}

}  // namespace

void backward(Context& context, const std::vector<Tensor>& roots, const std::vector<Tensor>& grads) {
  const auto has_history = [](const Tensor& root) { return !root.stop_gradient() && root.object()->node; };
  // Root by root: the history of the first is looked up before the second is looked at.
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (context.rules().stopped_root_is_error && roots[i].stop_gradient())
      throw SubjectError(kind::kNoGradFn,
                         fmt::format("element {} of tensors does not require grad and does not have a grad_fn", i));
    if (has_history(roots[i])) require_history(roots[i]);
  }
  // The queue owns its nodes: a non-reentrant replay may rebase the object that held the last reference.
  std::deque<std::shared_ptr<Node>> ready;
  for (const Tensor& root : roots) {
    const auto& node = root.object()->node;
    if (has_history(root) && std::find(ready.begin(), ready.end(), node) == ready.end()) ready.push_back(node);
  }
  const GradMode off(context, false);
  PendingMap pending = count_consumers(ready);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (!has_history(roots[i])) continue;
    Tensor seed = grads[i];
    if (!seed.defined()) {
      auto ones = context.allocate(roots[i].shape());
      context.backend().fill(1.0F, ones->data(), ones->num_elements());
      seed = context.wrap(std::move(ones));
    }
    const auto& object = *roots[i].object();
    accumulate(context, pending[object.node.get()].grads[object.slot], seed);
  }
  // A root that leads to another root's node waits for it like any consumer.
  std::erase_if(ready, [&](const auto& node) { return pending[node.get()].unfinished_consumers > 0; });
  while (!ready.empty()) {
    const std::shared_ptr<Node> node = take_next(context, ready);
    std::vector<Tensor> arrived = std::move(pending[node.get()].grads);
    std::vector<Tensor> results(node->edges().size());
    if (passes_none_on(context, *node, arrived)) {
      node->unpack_saved(context);
    } else {
      fill_missing(context, *node, arrived);
      results = node->backward(context, arrived);
    }
    node->release_saved();
    if (context.observer) context.observer->backward_done(node);
    context.operation_done();
    for (std::size_t i = 0; i < node->edges().size(); ++i) {
      const Edge& edge = node->edges()[i];
      if (!edge.node) continue;
      Pending& next = pending[edge.node.get()];
      if (results[i].defined()) accumulate(context, next.grads[edge.slot], results[i]);
      if (--next.unfinished_consumers > 0) continue;
      if (edge.node->is_accumulation())
        ready.push_front(edge.node);
      else
        ready.push_back(edge.node);
    }
  }
}

}  // namespace culprit
