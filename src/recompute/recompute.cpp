#include "recompute/recompute.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "autograd/backward.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/functions.hpp"

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
                         "none of output has requires_grad=True, this recompute() is not necessary");
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
    return nullptr;
  }
  Tensor unpack(const std::shared_ptr<void>&) override {
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
  NonReentrantHooks(Context& context, Block block, std::vector<Tensor> inputs)
      : context_(context), block_(std::move(block)), inputs_(std::move(inputs)) {}

  std::shared_ptr<void> pack(const Tensor&) override {
    auto place = std::make_shared<Placeholder>();
    places_.push_back(place);
    return place;
  }

  Tensor unpack(const std::shared_ptr<void>& packed) override {
    const auto place = std::static_pointer_cast<Placeholder>(packed);
    if (!replayed_) {
      replayed_ = true;
      const GradMode on(context_, true);
      const HooksScope hooks(context_, std::make_shared<SupplyHooks>(context_, places_));
      const ReplayScope replay(context_);
      block_(inputs_);
    }
    if (!place->supplied)
      throw SubjectError(kind::kReplayMismatch,
                         "the second run of a recomputed block saved fewer values than the first");
    return place->value;
  }

 private:
  Context& context_;
  Block block_;
  std::vector<Tensor> inputs_;
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
      if (context.hooks())
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
