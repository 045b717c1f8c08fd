#include "autograd/custom_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "autograd/node.hpp"

namespace culprit {
namespace {

class CustomFunctionNode final : public Node {
 public:
  CustomFunctionNode(std::shared_ptr<CustomFunction> function, std::shared_ptr<FunctionContext> fc)
      : Node(function->name()), function_(std::move(function)), fc_(std::move(fc)) {}

  std::vector<Tensor> backward(Context&, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> results = function_->backward(*fc_, grads);
    if (results.size() != edges().size())
      throw std::logic_error(fmt::format("[{}] backward gave {} gradients for {} inputs", name(),
                                         results.size(), edges().size()));
    // Only now, after the function's backward and its collectives are complete (rule 8).
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].defined() && !edges()[i].node)
        throw SubjectError(
            kind::kGradForStoppedInput,
            fmt::format("{} backward function should return None at {} position, because it's forward "
                        "Tensor's stopgradient is true",
                        name(), i));
    return results;
  }
  void release_saved() override { fc_->release_saved(); }

 private:
  std::shared_ptr<CustomFunction> function_;
  std::shared_ptr<FunctionContext> fc_;
};

template <class Range, class Same>
bool contains(const Range& range, Same same) {
  return std::any_of(range.begin(), range.end(), same);
}

}  // namespace

void FunctionContext::save_for_backward(const std::vector<Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    Saved entry;
    if (const auto& hooks = context_.hooks()) {
      if (!tensor.defined() && !context_.rules().hooks_accept_none)
        throw SubjectError(kind::kSaveNone,
                           "save_for_backward only support Tensor, list of Tensor, tuple of Tensor");
      entry.hooks = hooks;
      entry.packed = hooks->pack(tensor);
    } else {
      entry.object = tensor;
    }
    saved_.push_back(std::move(entry));
  }
}

std::vector<Tensor> FunctionContext::saved() {
  if (freed_)
    throw SubjectError(kind::kGraphFreed,
                       "trying to run backward through the same graph a second time: what the function saved has "
                       "been freed");
  std::vector<Tensor> result;
  for (const auto& entry : saved_)
    result.push_back(entry.hooks ? entry.hooks->unpack(entry.packed) : entry.object);
  return result;
}

std::vector<Tensor> apply(Context& context, const std::shared_ptr<CustomFunction>& function,
                          const std::vector<Tensor>& inputs) {
  const bool recorded = needs_history(context, inputs);
  const auto fc = std::make_shared<FunctionContext>(context);
  std::vector<Tensor> outputs;
  {
    const GradMode off(context, false);
    outputs = function->forward(*fc, inputs);
  }

  const auto is_input = [&](const Tensor& output) {
    return contains(inputs, [&](const Tensor& input) {
      return input.defined() && !input.released() && input.impl() == output.impl();
    });
  };
  // Rule 7: the caller gets a new object for a marked output; history goes to the old one.
  std::vector<Tensor> returned = outputs;
  const auto is_marked = [&](const Tensor& output) {
    return contains(fc->not_inplace(),
                    [&](const Tensor& marked) { return marked.impl() == output.impl(); });
  };
  for (auto& output : returned)
    if (is_input(output) && is_marked(output))
      output = context.wrap(output.impl(), context.rules().marked_output_stops_gradient);

  std::shared_ptr<Node> node;
  const auto observe = [&] {
    if (context.observer) context.observer->function_done(function->name(), inputs, outputs, returned, node);
  };
  if (recorded) {
    for (const auto& output : outputs) {
      output.set_stop_gradient(false);
      if (!is_input(output) || is_marked(output)) continue;
      if (output.is_leaf()) {
        observe();
        throw SubjectError(kind::kLeafInplace,
                           fmt::format("Leaf Var ({}) that doesn't stop gradient can't use inplace strategy",
                                       output.name()));
      }
      output.impl()->bump_inplace_version();
    }
    node = std::make_shared<CustomFunctionNode>(function, fc);
    node->take_edges(inputs);
    Node::set_history(node, outputs);
  }
  fc->forget_marks();
  observe();
  context.operation_done();
  return returned;
}

}  // namespace culprit
