#include <memory>

#include "autograd/custom_function.hpp"
#include "autograd/functions.hpp"
#include "parallel/regions.hpp"

namespace culprit {
namespace {

class IdentityFunction final : public CustomFunction {
 public:
  IdentityFunction(const TensorParallelGroup& group, IdentityVariant variant)
      : group_(group), variant_(variant) {}
  std::string name() const override { return "c_identity"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    const Tensor& x = inputs[0];
    Context& context = fc.context();
    switch (variant_) {
      case IdentityVariant::kCopy:
        return {assign(context, x)};
      case IdentityVariant::kSkip:
        return {x};
      case IdentityVariant::kView:
        return {view(context, x, x.shape())};
      case IdentityVariant::kDetach:
        return {detach(context, x)};
      case IdentityVariant::kReshape:
        return {reshape(context, x, x.shape())};
      case IdentityVariant::kMarkNotInplace:
        fc.mark_not_inplace(x);
        return {x};
      case IdentityVariant::kMarkDirty:
        fc.mark_dirty(x);
        return {x};
      case IdentityVariant::kMarkNonDifferentiable:
        fc.mark_non_differentiable(x);
        return {x};
    }
    return {};
  }
  std::vector<Tensor> backward(FunctionContext&, const std::vector<Tensor>& grads) override {
    group_.comm->all_reduce(raw_elements(grads[0]), "all-reduce of c_identity's gradient");
    return {grads[0]};
  }

 private:
  TensorParallelGroup group_;
  IdentityVariant variant_;
};

class AllReduceFunction final : public CustomFunction {
 public:
  AllReduceFunction(const TensorParallelGroup& group, bool skip_backward_copy)
      : group_(group), skip_backward_copy_(skip_backward_copy) {}
  std::string name() const override { return "mp_allreduce"; }

  std::vector<Tensor> forward(FunctionContext&, const std::vector<Tensor>& inputs) override {
    group_.comm->all_reduce(raw_elements(inputs[0]), "all-reduce of mp_allreduce's output");
    return {inputs[0]};
  }
  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    return {skip_backward_copy_ ? grads[0] : assign(fc.context(), grads[0])};
  }

 private:
  TensorParallelGroup group_;
  bool skip_backward_copy_;
};

class AllGatherFunction final : public CustomFunction {
 public:
  explicit AllGatherFunction(const TensorParallelGroup& group) : group_(group) {}
  std::string name() const override { return "mp_allgather"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    const auto [rows, cols] = inputs[0].shape();
    Context& context = fc.context();
    // Gathered rank by rank, then laid side by side: the communicator knows no rows.
    const Tensor by_rank = context.wrap(context.allocate({group_.size * rows, cols}));
    group_.comm->all_gather(raw_elements(inputs[0]), raw_elements(by_rank),
                            "all-gather of mp_allgather's output");
    const Tensor result = context.wrap(context.allocate({rows, group_.size * cols}));
    for (int r = 0; r < group_.size; ++r)
      context.backend().place_columns(by_rank.impl()->data_at(r * rows * cols), cols,
                                      result.impl()->data(), group_.size * cols, r * cols, rows);
    return {result};
  }
  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    const auto [rows, all_cols] = grads[0].shape();
    const auto cols = all_cols / group_.size;
    const Tensor mine = fc.context().wrap(fc.context().allocate({rows, cols}));
    fc.context().backend().slice_columns(grads[0].impl()->data(), all_cols, group_.rank * cols,
                                         mine.impl()->data(), rows, cols);
    return {mine};
  }

 private:
  TensorParallelGroup group_;
};

class OverlapLinearFunction final : public CustomFunction {
 public:
  OverlapLinearFunction(const TensorParallelGroup& group, bool skip_copy, OverlapWait wait)
      : group_(group), skip_copy_(skip_copy), wait_(wait) {}
  std::string name() const override { return "inner_overlap_linear"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    const Tensor no_bias;
    fc.save_for_backward({inputs[0], inputs[1], no_bias});
    const Tensor x = skip_copy_ ? inputs[0] : assign(fc.context(), inputs[0]);
    return {matmul(fc.context(), x, inputs[1])};
  }
  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    const std::vector<Tensor> saved = fc.saved();
    const Tensor& x = saved[0];        // [T, I]
    const Tensor& w = saved[1];        // [I, O/tp]
    const auto& dy = grads[0].impl();  // [T, O/tp]
    Context& context = fc.context();
    const auto [rows, inner] = x.shape();
    const auto outer = w.shape().cols;
    const Tensor dx = context.wrap(context.allocate({rows, inner}));
    context.backend().matmul(dy->data(), false, w.impl()->data(), true, dx.impl()->data(), rows,
                             inner, outer);
    auto reduced =
        group_.comm->start_all_reduce(raw_elements(dx), "all-reduce of the overlap linear's dx");
    const Tensor dw = context.wrap(context.allocate({inner, outer}));
    context.backend().matmul(x.impl()->data(), true, dy->data(), false, dw.impl()->data(), inner,
                             outer, rows);
    if (wait_ == OverlapWait::kBeforeUse)
      reduced->wait();
    else
      unwaited_.push_back({dx, std::move(reduced)});
    return {dx, dw};
  }

 private:
  struct Unwaited {
    Tensor buffer;  // whose memory the collective goes on using
    std::unique_ptr<Work> work;
  };

  TensorParallelGroup group_;
  bool skip_copy_;
  OverlapWait wait_;
  std::vector<Unwaited> unwaited_;
};

class ScaledOverlapLinearFunction final : public CustomFunction {
 public:
  ScaledOverlapLinearFunction(const TensorParallelGroup& group, double factor, OverlapWait wait)
      : group_(group), factor_(factor), wait_(wait) {}
  std::string name() const override { return "scaled_overlap_linear"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    const Tensor scaled = scale(fc.context(), inputs[0], factor_);
    fc.save_for_backward({scaled, inputs[1]});
    return {matmul(fc.context(), scaled, inputs[1])};
  }
  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    const std::vector<Tensor> saved = fc.saved();
    const Tensor& x = saved[0];        // [T, I], scaled
    const Tensor& w = saved[1];        // [I, O/tp]
    const auto& dy = grads[0].impl();  // [T, O/tp]
    Context& context = fc.context();
    Backend& backend = context.backend();
    const auto [rows, inner] = x.shape();
    const auto outer = w.shape().cols;
    const Tensor dx = context.wrap(context.allocate({rows, inner}));
    backend.matmul(dy->data(), false, w.impl()->data(), true, dx.impl()->data(), rows, inner,
                   outer);
    const auto reduced = group_.comm->start_all_reduce(
        raw_elements(dx), "all-reduce of the scaled overlap linear's dx");
    const Tensor dw = context.wrap(context.allocate({inner, outer}));
    backend.matmul(x.impl()->data(), true, dy->data(), false, dw.impl()->data(), inner, outer,
                   rows);
    if (wait_ == OverlapWait::kBeforeUse) reduced->wait();
    backend.scale(static_cast<float>(factor_), dx.impl()->data(), dx.impl()->data(), rows * inner);
    if (wait_ == OverlapWait::kLeftOut) reduced->wait();
    return {dx, dw};
  }

 private:
  TensorParallelGroup group_;
  double factor_;
  OverlapWait wait_;
};

class FrozenLinearFunction final : public CustomFunction {
 public:
  std::string name() const override { return "frozen_linear"; }

  std::vector<Tensor> forward(FunctionContext& fc, const std::vector<Tensor>& inputs) override {
    const Tensor no_bias;
    fc.save_for_backward({inputs[0], inputs[1], no_bias});
    return {matmul(fc.context(), inputs[0], inputs[1])};
  }
  std::vector<Tensor> backward(FunctionContext& fc, const std::vector<Tensor>& grads) override {
    const std::vector<Tensor> saved = fc.saved();
    const Tensor& x = saved[0];  // [T, I]
    const Tensor& w = saved[1];  // [I, O]
    // What it asks is the object that came back from saving, not its input.
    if (x.stop_gradient()) return {Tensor(), Tensor()};
    Context& context = fc.context();
    const auto [rows, inner] = x.shape();
    const Tensor dx = context.wrap(context.allocate({rows, inner}));
    context.backend().matmul(grads[0].impl()->data(), false, w.impl()->data(), true,
                             dx.impl()->data(), rows, inner, w.shape().cols);
    return {dx, Tensor()};
  }
};

}  // namespace

Tensor identity_region(Context& context, const TensorParallelGroup& group, IdentityVariant variant,
                       const Tensor& x) {
  return apply(context, std::make_shared<IdentityFunction>(group, variant), {x})[0];
}

Tensor all_reduce_region(Context& context, const TensorParallelGroup& group,
                         bool skip_backward_copy, const Tensor& y) {
  return apply(context, std::make_shared<AllReduceFunction>(group, skip_backward_copy), {y})[0];
}

Tensor all_gather_region(Context& context, const TensorParallelGroup& group, const Tensor& y) {
  return apply(context, std::make_shared<AllGatherFunction>(group), {y})[0];
}

Tensor overlap_linear(Context& context, const TensorParallelGroup& group, bool skip_copy,
                      const Tensor& x, const Tensor& w, OverlapWait wait) {
  return apply(context, std::make_shared<OverlapLinearFunction>(group, skip_copy, wait), {x, w})[0];
}

Tensor scaled_overlap_linear(Context& context, const TensorParallelGroup& group, double factor,
                             const Tensor& x, const Tensor& w, OverlapWait wait) {
  return apply(context, std::make_shared<ScaledOverlapLinearFunction>(group, factor, wait),
               {x, w})[0];
}

Tensor frozen_linear(Context& context, const Tensor& x, const Tensor& w) {
  return apply(context, std::make_shared<FrozenLinearFunction>(), {x, w})[0];
}

}  // namespace culprit
