// The ordinary operators. Each records a node when gradient mode is on and an input needs a gradient
// (rule 3). alias: every result is fresh (a new object on new storage) unless said otherwise. Errors:
// std::invalid_argument with both shapes when they do not fit.
#pragma once

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// x [T, I] times w [I, O] -> [T, O]. Saves and version-checks both, even if one needs no gradient (but for rule 27).
Tensor matmul(Context& context, const Tensor& x, const Tensor& w);
// a + b, same shape. Saves nothing. The two sides' gradients never share memory (but for rule 28).
Tensor add(Context& context, const Tensor& a, const Tensor& b);
// a - b, same shape. Saves nothing.
Tensor subtract(Context& context, const Tensor& a, const Tensor& b);
// factor * a. Saves nothing; its backward crashes when reached without a gradient (rule 4).
Tensor scale(Context& context, const Tensor& a, double factor);
// a * a by element. Saves its input.
Tensor square(Context& context, const Tensor& a);
// Mean over all elements -> [1, 1]. Saves nothing.
Tensor mean(Context& context, const Tensor& a);

// The memory operations. None of them copies data.
// alias: a view of `a`: new impl on a's storage and version counter; history flows through.
Tensor view(Context& context, const Tensor& a, Shape shape);
// alias: a new object on a's own impl, without history and with stop_gradient=true.
Tensor detach(Context& context, const Tensor& a);
// alias: `a` itself when the shape is its own (rule 1; a view under rule 21), else a view.
Tensor reshape(Context& context, const Tensor& a, Shape shape);
// What an identity copy does: a fresh copy of the values. Saves nothing.
Tensor assign(Context& context, const Tensor& a);

}  // namespace culprit
