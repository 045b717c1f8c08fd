#include <fmt/format.h>

#include <stdexcept>

#include "autograd/functions.hpp"
#include "autograd/node.hpp"
#include "autograd/saved_tensor.hpp"

namespace culprit {
namespace {

void require_same_shape(const char* op, const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return;
  throw std::invalid_argument(fmt::format("[{}] shapes differ, got [{}, {}] and [{}, {}]", op,
                                          a.shape().rows, a.shape().cols, b.shape().rows,
                                          b.shape().cols));
}

// Wraps the result of operator `name` and records `make_node()` for it if history is needed.
template <class MakeNode>
Tensor record(Context& context, const char* name, std::shared_ptr<TensorImpl> impl,
              const std::vector<Tensor>& inputs, MakeNode make_node) {
  Tensor result = context.wrap(std::move(impl));
  std::shared_ptr<Node> node;
  if (needs_history(context, inputs)) {
    node = make_node();
    node->set_number(context.next_node_number());
    node->take_edges(inputs);
    Node::set_history(node, {result});
  }
  if (context.observer) context.observer->operator_done(name, inputs, result, node);
  context.operation_done();
  return result;
}

// factor * a as a tensor without history.
Tensor scaled(Context& context, const Tensor& a, float factor) {
  auto impl = context.allocate(a.shape());
  context.backend().scale(factor, a.impl()->data(), impl->data(), impl->num_elements());
  return context.wrap(std::move(impl));
}

class MatmulNode final : public Node {
 public:
  MatmulNode(Context& context, const Tensor& x, const Tensor& w)
      : Node("matmul"),
        has_x_(!context.rules().matmul_saves_what_it_needs || !w.stop_gradient()),
        has_w_(!context.rules().matmul_saves_what_it_needs || !x.stop_gradient()),
        inner_(w.shape().rows) {
    if (has_x_) x_ = SavedTensor(context, x);
    if (has_w_) w_ = SavedTensor(context, w);
  }
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    const Tensor x = has_x_ ? x_.unpack(context) : Tensor();  // [T, I]
    const Tensor w = has_w_ ? w_.unpack(context) : Tensor();  // [I, O]
    const auto& dy = grads[0].impl();                         // [T, O]
    std::vector<Tensor> results(2);
    const auto [rows, outer] = dy->shape();
    const auto inner = inner_;
    if (edges()[0].node) {
      auto dx = context.allocate({rows, inner});
      context.backend().matmul(dy->data(), false, w.impl()->data(), true, dx->data(), rows, inner,
                               outer);
      results[0] = context.wrap(std::move(dx));
    }
    if (edges()[1].node) {
      auto dw = context.allocate({inner, outer});
      context.backend().matmul(x.impl()->data(), true, dy->data(), false, dw->data(), inner, outer,
                               rows);
      results[1] = context.wrap(std::move(dw));
    }
    return results;
  }
  void unpack_saved(Context& context) const override {
    if (has_x_) x_.unpack(context);
    if (has_w_) w_.unpack(context);
  }
  void release_saved() override {
    x_.reset();
    w_.reset();
  }

 private:
  bool has_x_, has_w_;
  std::int64_t inner_;
  SavedTensor x_, w_;
};

// a +/- b. Each side gets memory of its own, but under rule 28: an in-place write to one side's gradient (an all-reduce)
// must not reach the other.
class AddNode final : public Node {
 public:
  AddNode(const char* name, float b_sign) : Node(name), b_sign_(b_sign) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> results(2);
    const auto side = [&](float sign) {
      return context.rules().add_shares_gradient && sign == 1.0F ? grads[0] : scaled(context, grads[0], sign);
    };
    if (edges()[0].node) results[0] = side(1.0F);
    if (edges()[1].node) results[1] = side(b_sign_);
    return results;
  }

 private:
  float b_sign_;
};

class ScaleNode final : public Node {
 public:
  explicit ScaleNode(float factor) : Node("scale"), factor_(factor) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    unpack_saved(context);
    return {scaled(context, grads[0], factor_)};
  }
  void unpack_saved(Context& context) const override {
    if (freed_ && context.rules().scale_is_freed) throw_graph_freed(context, "the value saved for " + name());
  }
  MissingGradient missing_gradient() const override { return MissingGradient::kCrashes; }
  void release_saved() override { freed_ = true; }

 private:
  float factor_;
  bool freed_ = false;
};

class SquareNode final : public Node {
 public:
  SquareNode(Context& context, const Tensor& a) : Node("square"), a_(context, a) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    const Tensor a = a_.unpack(context);
    auto da = context.allocate(a.shape());
    context.backend().multiply(2.0F, a.impl()->data(), grads[0].impl()->data(), da->data(),
                               da->num_elements());
    return {context.wrap(std::move(da))};
  }
  void unpack_saved(Context& context) const override { a_.unpack(context); }
  void release_saved() override { a_.reset(); }

 private:
  SavedTensor a_;
};

class MeanNode final : public Node {
 public:
  explicit MeanNode(Shape shape) : Node("mean"), shape_(shape) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    auto da = context.allocate(shape_);
    context.backend().spread(grads[0].impl()->data(), static_cast<float>(shape_.num_elements()),
                             da->data(), da->num_elements());
    return {context.wrap(std::move(da))};
  }

 private:
  Shape shape_;
};

class ViewNode final : public Node {
 public:
  explicit ViewNode(Shape input_shape) : Node("view"), input_shape_(input_shape) {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    return {context.wrap(grads[0].impl()->view(input_shape_))};
  }

 private:
  Shape input_shape_;
};

class AssignNode final : public Node {
 public:
  AssignNode() : Node("assign") {}
  std::vector<Tensor> backward(Context& context, const std::vector<Tensor>& grads) override {
    return {scaled(context, grads[0], 1.0F)};
  }
};

Tensor add_scaled(Context& context, const char* name, const Tensor& a, const Tensor& b,
                  float b_sign) {
  require_same_shape(name, a, b);
  auto impl = context.allocate(a.shape());
  context.backend().add(1.0F, a.impl()->data(), b_sign, b.impl()->data(), impl->data(),
                        impl->num_elements());
  return record(context, name, std::move(impl), {a, b},
                [&] { return std::make_shared<AddNode>(name, b_sign); });
}

}  // namespace

Tensor matmul(Context& context, const Tensor& x, const Tensor& w) {
  if (x.shape().cols != w.shape().rows)
    throw std::invalid_argument(
        fmt::format("[matmul] inner sizes differ, got [{}, {}] times [{}, {}]", x.shape().rows,
                    x.shape().cols, w.shape().rows, w.shape().cols));
  auto impl = context.allocate({x.shape().rows, w.shape().cols});
  context.backend().matmul(x.impl()->data(), false, w.impl()->data(), false, impl->data(),
                           x.shape().rows, w.shape().cols, x.shape().cols);
  return record(context, "matmul", std::move(impl), {x, w},
                [&] { return std::make_shared<MatmulNode>(context, x, w); });
}

Tensor add(Context& context, const Tensor& a, const Tensor& b) {
  return add_scaled(context, "add", a, b, 1.0F);
}

Tensor subtract(Context& context, const Tensor& a, const Tensor& b) {
  return add_scaled(context, "subtract", a, b, -1.0F);
}

Tensor scale(Context& context, const Tensor& a, double factor) {
  const auto f = static_cast<float>(factor);
  auto impl = context.allocate(a.shape());
  context.backend().scale(f, a.impl()->data(), impl->data(), impl->num_elements());
  return record(context, "scale", std::move(impl), {a},
                [&] { return std::make_shared<ScaleNode>(f); });
}

Tensor square(Context& context, const Tensor& a) {
  auto impl = context.allocate(a.shape());
  context.backend().multiply(1.0F, a.impl()->data(), a.impl()->data(), impl->data(),
                             impl->num_elements());
  return record(context, "square", std::move(impl), {a},
                [&] { return std::make_shared<SquareNode>(context, a); });
}

Tensor mean(Context& context, const Tensor& a) {
  auto impl = context.allocate({1, 1});
  context.backend().sum(a.impl()->data(), static_cast<float>(a.impl()->num_elements()),
                        impl->data(), a.impl()->num_elements());
  return record(context, "mean", std::move(impl), {a},
                [&] { return std::make_shared<MeanNode>(a.shape()); });
}

Tensor view(Context& context, const Tensor& a, Shape shape) {
  if (shape.num_elements() != a.shape().num_elements())
    throw std::invalid_argument(
        fmt::format("[view] element counts differ, got [{}, {}] of [{}, {}]", shape.rows,
                    shape.cols, a.shape().rows, a.shape().cols));
  const Tensor result = record(context, "view", a.impl()->view(shape), {a},
                               [&] { return std::make_shared<ViewNode>(a.shape()); });
  result.object()->is_view = true;
  return result;
}

Tensor detach(Context& context, const Tensor& a) { return context.wrap(a.impl()); }

Tensor reshape(Context& context, const Tensor& a, Shape shape) {
  return shape == a.shape() && !context.rules().reshape_gives_view ? a : view(context, a, shape);
}

Tensor assign(Context& context, const Tensor& a) {
  auto impl = context.allocate(a.shape());
  context.backend().copy(a.impl()->data(), impl->data(), impl->num_elements());
  return record(context, "assign", std::move(impl), {a},
                [&] { return std::make_shared<AssignNode>(); });
}

}  // namespace culprit
