// Support of the autograd tests: one rank's context on the CPU, custom functions from lambdas,
// errors by kind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/backward.hpp"
#include "autograd/context.hpp"
#include "autograd/custom_function.hpp"
#include "autograd/functions.hpp"
#include "base/subject_error.hpp"
#include "gtest/gtest.h"
#include "tensor/cpu_backend.hpp"

namespace culprit::test {

using Tensors = std::vector<Tensor>;
using Floats = std::vector<float>;

// A custom function whose two passes are lambdas.
class LambdaFunction final : public CustomFunction {
 public:
  using Pass = std::function<Tensors(FunctionContext&, const Tensors&)>;
  LambdaFunction(Pass forward, Pass backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  std::string name() const override { return "lambda"; }
  Tensors forward(FunctionContext& fc, const Tensors& inputs) override {
    return forward_(fc, inputs);
  }
  Tensors backward(FunctionContext& fc, const Tensors& grads) override {
    return backward_(fc, grads);
  }

 private:
  Pass forward_, backward_;
};

inline Tensors call(Context& context, LambdaFunction::Pass forward, LambdaFunction::Pass backward,
                    const Tensors& inputs) {
  return apply(context, std::make_shared<LambdaFunction>(std::move(forward), std::move(backward)),
               inputs);
}

// Passes that most tests want.
inline Tensors return_inputs(FunctionContext&, const Tensors& inputs) { return inputs; }
inline Tensors copy_inputs(FunctionContext& fc, const Tensors& inputs) {
  Tensors copies;
  for (const Tensor& input : inputs) copies.push_back(assign(fc.context(), input));
  return copies;
}
inline Tensors return_grads(FunctionContext&, const Tensors& grads) { return grads; }
inline Tensors double_grads(FunctionContext& fc, const Tensors& grads) {
  Tensors doubled;
  for (const Tensor& grad : grads) doubled.push_back(scale(fc.context(), grad, 2.0));
  return doubled;
}
inline Tensors give_none(FunctionContext&, const Tensors& grads) { return Tensors(grads.size()); }

inline Floats values_of(const Tensor& tensor) { return tensor.impl()->to_host(); }

// Kind and message of the SubjectError that `action` throws; empty if it throws none.
struct Raised {
  std::string kind, message;
};
template <class Action>
Raised raised(Action&& action) {
  try {
    action();
  } catch (const SubjectError& error) {
    return {error.kind(), error.what()};
  }
  return {};
}

// One rank with the rules of both framework releases at hand.
class OneRankTest : public ::testing::Test {
 protected:
  Tensor tensor(Shape shape, const Floats& values, const std::string& name, bool stop_gradient) {
    auto impl = context.allocate(shape);
    backend->upload(values, impl->data());
    return Tensor(std::move(impl), name, stop_gradient);
  }
  Tensor parameter(const std::string& name, const Floats& values) {
    return tensor({1, static_cast<std::int64_t>(values.size())}, values, name,
                  /*stop_gradient=*/false);
  }
  Tensor data(const Floats& values) {
    return tensor({1, static_cast<std::int64_t>(values.size())}, values, "data",
                  /*stop_gradient=*/true);
  }
  std::int64_t live_bytes() const { return backend->counters().live_bytes; }

  std::unique_ptr<Backend> backend =
      make_cpu_backend(DType::kFloat32);  // before all that holds its memory
  Context context{*backend, rules_of("paddle@3.3.1")};
  Context context_262{*backend, rules_of("paddle@2.6.2")};
};

}  // namespace culprit::test
