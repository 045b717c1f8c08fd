#include "recompute/recompute.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "autograd/backward.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/functions.hpp"
#include "autograd/saved_tensor.hpp"

namespace culprit {
namespace {

class ReentrantFunction final : public CustomFunction {
 public:
  explicit ReentrantFunction(Block block) : block_(std::move(block)) {}
  std::string name() const override { return "recompute"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    fc.save_for_backward(inputs);
    return {block_(inputs)};
  }

  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    Context& context = fc.context();
    std::vector<Tensor> detached;
    for (const Tensor& input : fc.saved()) {
      detached.push_back(detach(context, input));
      detached.back().set_stop_gradient(input.stop_gradient());
    }
    Tensor output;
    {
      const GradMode on(context, true);
      const ReplayScope replay(context);
      output = block_(detached);
    }
    if (output.stop_gradient())
      throw SubjectError(kind::kNoGradNeeded,
                         fmt::format("none of output has requires_grad=True, this {}() is not necessary",
                                     context.rules().speaks_torch ? "checkpoint" : "recompute"));
    culprit::backward(context, {output}, {grads[0]});
    std::vector<Tensor> results;
    for (const Tensor& input : detached) results.push_back(input.grad());
    return results;
  }

 private:
  Block block_;
};

// The place of one dropped value: its number in the order of saving, and what the second run supplied.
struct Placeholder {
  Tensor value;
  bool supplied = false;
};

// Ends a second run that has saved all that is needed (rule 30).
struct EnoughSaved {};

// Collects what the second run saves, in order, into the placeholders of the first.
class SupplyHooks final : public SavedTensorHooks {
 public:
  SupplyHooks(Context& context, std::vector<std::weak_ptr<Placeholder>> places)
      : context_(context), places_(std::move(places)) {}
  std::shared_ptr<void> pack(const Tensor& value) override {
    if (next_ < places_.size()) {
      if (const auto place = places_[next_].lock()) {
        // A new object on the same memory, so that the value is what the memory holds when it is read.
        if (value.defined()) place->value = context_.wrap(value.impl()->view(value.shape()));
        place->supplied = true;
      }
    }
    ++next_;
    if (context_.rules().replay_stops_early && next_ == places_.size()) throw EnoughSaved();
    return context_.rules().hooks_nest ? std::make_shared<Tensor>(value) : nullptr;
  }
  Tensor unpack(const std::shared_ptr<void>& value) override {
    if (value) return *std::static_pointer_cast<Tensor>(value);
    throw SubjectError(kind::kReplayMismatch, "a value saved by the second run of a recomputed block was "
                                              "read during that run");
  }

 private:
  Context& context_;
  std::vector<std::weak_ptr<Placeholder>> places_;
  std::size_t next_ = 0;
};

class NonReentrantHooks final : public SavedTensorHooks {
 public:
  NonReentrantHooks(Context& context, Block block, const std::vector<Tensor>& inputs)
      : context_(context), block_(std::move(block)) {
    for (const Tensor& input : inputs)
      inputs_.emplace_back(context, input, /*checked=*/context.rules().replay_checks_inputs);
  }

  std::shared_ptr<void> pack(const Tensor&) override {
    auto place = std::make_shared<Placeholder>();
    places_.push_back(place);
    return place;
  }

  Tensor unpack(const std::shared_ptr<void>& packed) override {
    const auto place = std::static_pointer_cast<Placeholder>(packed);
    if (!replayed_) {
      replayed_ = true;
      std::vector<Tensor> inputs;
      for (const SavedObject& input : inputs_) inputs.push_back(input.unpack(context_));
      const GradMode on(context_, true);
      const HooksScope hooks(context_, std::make_shared<SupplyHooks>(context_, places_));
      const ReplayScope replay(context_);
      try {
        block_(inputs);
      } catch (const EnoughSaved&) {
      }
    }
    if (!place->supplied)
      throw SubjectError(kind::kReplayMismatch,
                         context_.rules().speaks_torch
                             ? "torch.utils.checkpoint: A different number of tensors was saved during the original "
                               "forward and recomputation."
                             : "the second run of a recomputed block saved fewer values than the first");
    return place->value;
  }

 private:
  Context& context_;
  Block block_;
  std::vector<SavedObject> inputs_;
  std::vector<std::weak_ptr<Placeholder>> places_;
  bool replayed_ = false;
};

}  // namespace

Tensor recompute(Context& context, RecomputeKind kind, const Block& block,
                 const std::vector<Tensor>& inputs) {
  switch (kind) {
    case RecomputeKind::kReentrant:
      return apply(context, std::make_shared<ReentrantFunction>(block), inputs)[0];
    case RecomputeKind::kNonReentrant: {
      if (context.hooks() && !context.rules().hooks_nest)
        throw SubjectError(kind::kHooksTaken,
                           "paddle.autograd.saved_tensors_hooks only one pair of hooks is allowed at a time");
      const HooksScope hooks(context, std::make_shared<NonReentrantHooks>(context, block, inputs));
      return block(inputs);
    }
    case RecomputeKind::kNone:
      break;
  }
  return block(inputs);
}

}  // namespace culprit
