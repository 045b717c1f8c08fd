// What one rank's autograd runs in: its backend, its framework's rules, gradient mode and saved-tensor
// hooks. One Context a rank, used by that rank's thread alone; nothing here is global.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/observer.hpp"
#include "autograd/rules.hpp"
#include "autograd/tensor.hpp"

namespace culprit {

// Sees every value that operators and custom functions save for backward while it is installed
// (Context::hooks), instead of the engine keeping it. `unpack` gets back what `pack` returned.
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  virtual std::shared_ptr<void> pack(const Tensor& value) = 0;
  virtual Tensor unpack(const std::shared_ptr<void>& packed) = 0;
};

class Context {
 public:
  Context(Backend& backend, const FrameworkRules& rules) : backend_(backend), rules_(rules) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Backend& backend() { return backend_; }
  const FrameworkRules& rules() const { return rules_; }
  bool grad_enabled() const { return grad_enabled_; }
  const std::shared_ptr<SavedTensorHooks>& hooks() const { return hooks_; }
  int replay_depth() const { return replay_depth_; }

  // A new impl of undefined contents.
  std::shared_ptr<TensorImpl> allocate(Shape shape) {
    return std::make_shared<TensorImpl>(backend_, shape);
  }
  // A new object without history on `impl`, named as the framework names intermediate values.
  Tensor wrap(std::shared_ptr<TensorImpl> impl, bool stop_gradient = true) {
    return Tensor(std::move(impl), "generated_tensor_" + std::to_string(next_name_++), stop_gradient);
  }
  // Nodes are numbered as they are made.
  std::uint64_t next_node_number() { return next_node_number_++; }

  OperationObserver* observer = nullptr;  // not owned; may be null
  // Called after each operator, function and collective of this rank: the harness's sign of life.
  std::function<void()> on_operation;
  void operation_done() const {
    if (on_operation) on_operation();
  }

 private:
  friend class GradMode;
  friend class HooksScope;
  friend class ReplayScope;
  Backend& backend_;
  const FrameworkRules& rules_;
  bool grad_enabled_ = true;
  std::shared_ptr<SavedTensorHooks> hooks_;
  int replay_depth_ = 0;
  std::uint64_t next_name_ = 0;
  std::uint64_t next_node_number_ = 0;
};

// Sets gradient mode for a scope.
class GradMode {
 public:
  GradMode(Context& context, bool enabled) : context_(context), before_(context.grad_enabled_) {
    context_.grad_enabled_ = enabled;
  }
  ~GradMode() { context_.grad_enabled_ = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  Context& context_;
  bool before_;
};

// Installs saved-tensor hooks (null: none) for a scope.
class HooksScope {
 public:
  HooksScope(Context& context, std::shared_ptr<SavedTensorHooks> hooks)
      : context_(context), before_(std::exchange(context.hooks_, std::move(hooks))) {}
  ~HooksScope() { context_.hooks_ = std::move(before_); }
  HooksScope(const HooksScope&) = delete;
  HooksScope& operator=(const HooksScope&) = delete;

 private:
  Context& context_;
  std::shared_ptr<SavedTensorHooks> before_;
};

// Marks a scope as the second run of a recomputed block. When the scope is left by an exception the
// depth stays, so that whoever catches it knows where it came from.
class ReplayScope {
 public:
  explicit ReplayScope(Context& context)
      : context_(context), exceptions_(std::uncaught_exceptions()) {
    ++context_.replay_depth_;
  }
  ~ReplayScope() {
    if (std::uncaught_exceptions() == exceptions_) --context_.replay_depth_;
  }
  ReplayScope(const ReplayScope&) = delete;
  ReplayScope& operator=(const ReplayScope&) = delete;

 private:
  Context& context_;
  int exceptions_;
};

}  // namespace culprit
