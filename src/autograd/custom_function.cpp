#include "autograd/custom_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "base/error.hpp"

namespace culprit {
namespace {

class CustomFunctionNode final : public Node {
 public:
  CustomFunctionNode(std::shared_ptr<CustomFunction> function, std::shared_ptr<FunctionContext> fc)
      : Node(function->name()), function_(std::move(function)), fc_(std::move(fc)) {}

  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> results = function_->backward(*fc_, grads);
    if (results.size() != edges().size())
      throw std::logic_error(fmt::format("[{}] backward gave {} gradients for {} inputs", name(),
                                         results.size(), edges().size()));
    // Only now, after the function's backward and its collectives are complete (rule 8).
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].defined() && !edges()[i].node && context.rules().unneeded_gradient_is_error)
        throw SubjectError(
            kind::kGradForStoppedInput,
            fmt::format("{} backward function should return None at {} position, because it's forward "
                        "Tensor's stopgradient is true",
                        name(), i));
    return results;
  }
  void release_saved() override { fc_->release_saved(); }
  bool is_custom_function() const override { return true; }

 private:
  std::shared_ptr<CustomFunction> function_;
  std::shared_ptr<FunctionContext> fc_;
};

template <class Range, class Same>
bool contains(const Range& range, Same same) {
  return std::any_of(range.begin(), range.end(), same);
}

// One application whose forward has run.
struct Application {
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& outputs;   // what forward returned
  std::vector<Tensor> returned;         // what the caller gets
  std::vector<Tensor> with_history;     // what is pointed at the node, by slot; undefined: nothing
};

// Rules 6 and 7. Errors: SubjectError LEAF_INPLACE.
void find_inplace_by_memory(Context& context, const FunctionContext& fc, bool recorded, Application& call) {
  const auto is_input = [&](const Tensor& output) {
    return contains(call.inputs, [&](const Tensor& input) {
      return input.defined() && !input.released() && input.impl() == output.impl();
    });
  };
  const auto is_marked = [&](const Tensor& output) {
    return contains(fc.not_inplace(), [&](const Tensor& marked) { return marked.impl() == output.impl(); });
  };
  // Rule 7: the caller gets a new object for a marked output; history goes to the old one.
  for (auto& output : call.returned)
    if (is_input(output) && is_marked(output))
      output = context.wrap(output.impl(), context.rules().marked_output_stops_gradient);
  if (!recorded) return;
  for (const auto& output : call.outputs) {
    output.set_stop_gradient(false);
    if (!is_input(output) || is_marked(output)) continue;
    if (output.is_leaf())
      throw SubjectError(kind::kLeafInplace,
                         fmt::format("Leaf Var ({}) that doesn't stop gradient can't use inplace strategy",
                                     output.name()));
    output.impl()->bump_inplace_version();
  }
}

// Rule 22: whether history may be rebased onto the function. Errors: SubjectError LEAF_INPLACE, VIEW_INPLACE; UsageError.
void require_writable(const Context& context, const std::string& function, const Tensor& output) {
  if (output.is_leaf() && !output.stop_gradient())
    throw SubjectError(kind::kLeafInplace, "a leaf Variable that requires grad has been used in an in-place operation.");
  if (output.object()->made_by_function)
    throw SubjectError(kind::kViewInplace,
                       "Output 0 of " + function +
                           " is a view and is being modified inplace. This view was created inside a custom Function "
                           "(or because an input was returned as-is) and the autograd logic to handle view+inplace would "
                           "override the custom backward associated with the custom Function, leading to incorrect "
                           "gradients.");
  if (output.object()->is_view)
    throw UsageError(fmt::format("{}: an in-place change of a view that no custom function made is not modelled",
                                 context.rules().name));
}

// Rules 21 to 23. Errors: as require_writable.
void find_inplace_by_marks(Context& context, const std::string& name, const FunctionContext& fc, bool recorded,
                           Application& call) {
  const auto is_one_of = [](const std::vector<Tensor>& tensors, const Tensor& output) {
    return contains(tensors, [&](const Tensor& tensor) { return tensor.is(output); });
  };
  for (const auto& dirty : fc.dirty()) dirty.impl()->bump_inplace_version();
  for (std::size_t slot = 0; slot < call.outputs.size(); ++slot) {
    const Tensor& output = call.outputs[slot];
    Tensor& returned = call.returned[slot];
    const bool is_input = is_one_of(call.inputs, output), is_dirty = is_one_of(fc.dirty(), output);
    const bool has_gradient = recorded && !is_one_of(fc.non_differentiable(), output);
    const bool as_is = is_input && !is_dirty;
    if (!has_gradient) call.with_history[slot] = Tensor();
    if (is_dirty && has_gradient) {
      require_writable(context, name, output);
    } else if (as_is && (has_gradient || output.stop_gradient())) {
      returned = context.wrap(output.impl()->view(output.shape()));
      returned.object()->is_view = true;
    } else if (is_input && !output.stop_gradient()) {
      returned = detach(context, output);
    }
    if (!has_gradient) continue;
    if (!is_dirty && returned.object()->is_view) {
      returned.object()->made_by_function = true;
      returned.object()->made_at_version = returned.impl()->inplace_version();
    }
    call.with_history[slot] = returned;
  }
}

}  // namespace

void FunctionContext::save_for_backward(const std::vector<Tensor>& tensors) {
  if (context_.rules().function_saves_are_checked) {
    to_save_ = tensors;
    return;
  }
  for (const auto& tensor : tensors) {
    if (context_.hooks() && !tensor.defined() && !context_.rules().hooks_accept_none)
      throw SubjectError(kind::kSaveNone, "save_for_backward only support Tensor, list of Tensor, tuple of Tensor");
    saved_.emplace_back(context_, tensor, /*checked=*/false);
  }
}

void FunctionContext::finish_forward(bool recorded) {
  for (const auto& tensor : std::exchange(to_save_, {})) {
    if (!recorded) continue;
    saved_.emplace_back(context_, tensor, /*checked=*/true);
  }
}

std::vector<Tensor> FunctionContext::saved() {
  if (freed_) throw_graph_freed(context_, "what the function saved");
  std::vector<Tensor> result;
  for (const auto& entry : saved_) result.push_back(entry.unpack(context_));
  return result;
}

std::vector<Tensor> apply(Context& context, const std::shared_ptr<CustomFunction>& function,
                          const std::vector<Tensor>& inputs) {
  const bool recorded = needs_history(context, inputs);
  const auto fc = std::make_shared<FunctionContext>(context);
  const bool by_memory = context.rules().returned_input_is_inplace;
  std::shared_ptr<Node> node;
  if (recorded) {
    node = std::make_shared<CustomFunctionNode>(function, fc);
    node->set_number(context.next_node_number());
    // Rule 21: before forward, which may change what it is given; by rule 6 after it.
    if (!by_memory) node->take_edges(inputs);
  }
  std::vector<Tensor> outputs;
  {
    const GradMode off(context, false);
    outputs = function->forward(*fc, inputs);
  }
  Application call{.inputs = inputs, .outputs = outputs, .returned = outputs, .with_history = outputs};
  const auto observe = [&](const std::shared_ptr<Node>& made) {
    if (!context.observer) return;
    std::vector<Tensor> seen = call.with_history;
    for (std::size_t slot = 0; slot < seen.size(); ++slot)
      if (!seen[slot].defined()) seen[slot] = call.returned[slot];
    context.observer->function_done(function->name(), inputs, seen, call.returned, made);
  };
  try {
    if (by_memory)
      find_inplace_by_memory(context, *fc, recorded, call);
    else
      find_inplace_by_marks(context, function->name(), *fc, recorded, call);
  } catch (const SubjectError&) {
    observe(nullptr);
    throw;
  }
  if (recorded) {
    if (by_memory) node->take_edges(inputs);
    Node::set_history(node, call.with_history);
  }
  fc->finish_forward(recorded);
  fc->forget_marks();
  observe(node);
  context.operation_done();
  return call.returned;
}

}  // namespace culprit
