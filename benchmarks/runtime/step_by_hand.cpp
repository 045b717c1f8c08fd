#include "step_by_hand.hpp"

#include <utility>

#include "pipeline/schedule.hpp"

namespace culprit {

int StepByHand::num_slots(const StepShape& shape) {
  return num_warmup_forwards(shape.stage, shape.num_stages, shape.num_micro_batches) + 1;
}

StepByHand::StepByHand(StepCalls& calls, const StepShape& shape, std::vector<BlockWeights> blocks,
                       std::vector<const std::byte*> data, std::vector<const std::byte*> targets)
    : calls_(calls),
      shape_(shape),
      activation_(shape.tokens * shape.hidden),
      shard_(shape.hidden / shape.tp),
      blocks_(std::move(blocks)),
      data_(std::move(data)),
      targets_(std::move(targets)),
      slots_(at(num_slots(shape))) {
  const std::int64_t inner = shape.tokens * shard_, weight = shape.hidden * shard_;
  for (Slot& slot : slots_) {
    if (!first()) slot.received = calls_.allocate(activation_);
    if (!first()) slot.sent_grad = calls_.allocate(activation_);
    for (std::size_t b = 0; b < blocks_.size(); ++b)
      slot.layers.push_back({.copy = shape.tp > 1 ? calls_.allocate(activation_) : nullptr,
                             .inner = calls_.allocate(inner),
                             .out = calls_.allocate(activation_)});
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b)
    grads_.push_back({.column = calls_.allocate(weight), .row = calls_.allocate(weight)});
  if (!last()) received_grad_ = calls_.allocate(activation_);
  grad_copy_ = shape.tp > 1 ? calls_.allocate(activation_) : nullptr;
  inner_grad_ = calls_.allocate(inner);
  for (std::byte*& buffer : flow_) buffer = calls_.allocate(activation_);
  fresh_weight_grad_ = calls_.allocate(weight);
  if (!last()) return;
  for (int m = 0; m < shape.num_micro_batches; ++m) losses_.push_back(calls_.allocate(1));
  off_ = calls_.allocate(activation_);
  squares_ = calls_.allocate(activation_);
  for (std::byte*& buffer : loss_grads_) buffer = calls_.allocate(activation_);
  for (std::byte*& scalar : scalars_) scalar = calls_.allocate(1);
}

void StepByHand::connect() {
  if (shape_.tp > 1) calls_.all_reduce(flow_[0], activation_);
  calls_.wait();
  for (const Way way : {Way::kActivation, Way::kGradient}) {
    const bool downwards = way == Way::kActivation;
    if (downwards ? !last() : !first()) calls_.send(way, 0, flow_[0], activation_);
    if (downwards ? !first() : !last()) calls_.receive(way, flow_[1], activation_);
    calls_.wait();
  }
}

void StepByHand::run(Extent extent) {
  extent_ = extent;
  run_1f1b(
      shape_.stage, shape_.num_stages, shape_.num_micro_batches, [this](int m) { forward(m); },
      [this](int m) { backward(m); });
}

void StepByHand::forward(int micro_batch) {
  const int place = micro_batch % static_cast<int>(slots_.size());
  Slot& slot = slots_[at(place)];
  const std::byte* x = slot.received;
  if (first())
    x = data_[at(micro_batch)];
  else
    calls_.receive(Way::kActivation, slot.received, activation_);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    Layer& layer = slot.layers[b];
    layer.input = x;
    if (shape_.tp > 1) {  // c_identity
      if (whole()) calls_.copy(x, layer.copy, activation_);
      layer.input = layer.copy;
    }
    calls_.matmul(layer.input, false, blocks_[b].column, false, layer.inner, shape_.tokens, shard_,
                  shape_.hidden);
    if (b + 1 == blocks_.size() && !last()) calls_.await_sent(Way::kActivation, place);
    calls_.matmul(layer.inner, false, blocks_[b].row, false, layer.out, shape_.tokens,
                  shape_.hidden, shard_);
    if (shape_.tp > 1) calls_.all_reduce(layer.out, activation_);
    x = layer.out;
  }
  if (last())
    loss_forward(x, micro_batch);
  else
    calls_.send(Way::kActivation, place, x, activation_);
}

void StepByHand::loss_forward(const std::byte* y, int micro_batch) {
  if (!whole()) return;
  calls_.add(1.0F, y, -1.0F, targets_[at(micro_batch)], off_, activation_);
  calls_.multiply(1.0F, off_, off_, squares_, activation_);
  calls_.sum(squares_, static_cast<float>(activation_), scalars_[0], activation_);
  std::byte* const divided = losses_[at(micro_batch)];
  calls_.scale(static_cast<float>(1.0 / shape_.num_micro_batches), scalars_[0], divided, 1);
  if (shape_.loss_scale != 1.0)
    calls_.scale(static_cast<float>(shape_.loss_scale), divided, scalars_[1], 1);
}

const std::byte* StepByHand::loss_backward() {
  if (!whole()) return loss_grads_[2];
  const std::byte* grad = scalars_[1];
  calls_.fill(1.0F, scalars_[1], 1);
  if (shape_.loss_scale != 1.0) {
    calls_.scale(static_cast<float>(shape_.loss_scale), grad, scalars_[2], 1);
    grad = scalars_[2];
  }
  calls_.scale(static_cast<float>(1.0 / shape_.num_micro_batches), grad, scalars_[3], 1);
  calls_.spread(scalars_[3], static_cast<float>(activation_), loss_grads_[0], activation_);
  calls_.multiply(2.0F, off_, loss_grads_[0], loss_grads_[1], activation_);
  calls_.scale(1.0F, loss_grads_[1], loss_grads_[2], activation_);  // of the difference
  return loss_grads_[2];
}

void StepByHand::backward(int micro_batch) {
  const int place = micro_batch % static_cast<int>(slots_.size());
  const Slot& slot = slots_[at(place)];
  const std::byte* grad = received_grad_;
  if (last())
    grad = loss_backward();
  else
    calls_.receive(Way::kGradient, received_grad_, activation_);
  for (std::size_t b = blocks_.size(); b-- > 0;) {
    const Layer& layer = slot.layers[b];
    if (shape_.tp > 1) {  // mp_allreduce's backward
      if (whole()) calls_.copy(grad, grad_copy_, activation_);
      grad = grad_copy_;
    }
    calls_.matmul(grad, false, blocks_[b].row, true, inner_grad_, shape_.tokens, shard_,
                  shape_.hidden);
    weight_grad(micro_batch, layer.inner, grad, grads_[b].row, shard_, shape_.hidden);
    const bool is_sent = b == 0 && !first();
    std::byte* const input_grad = is_sent ? slot.sent_grad : flow_[b % 2];
    if (is_sent) calls_.await_sent(Way::kGradient, place);
    calls_.matmul(inner_grad_, false, blocks_[b].column, true, input_grad, shape_.tokens,
                  shape_.hidden, shard_);
    weight_grad(micro_batch, layer.input, inner_grad_, grads_[b].column, shape_.hidden, shard_);
    if (shape_.tp > 1) calls_.all_reduce(input_grad, activation_);
    grad = input_grad;
  }
  if (!first()) calls_.send(Way::kGradient, place, grad, activation_);
}

void StepByHand::weight_grad(int micro_batch, const std::byte* a, const std::byte* b,
                             std::byte* grad, std::int64_t m, std::int64_t n) {
  const bool adds = micro_batch > 0 && whole();
  std::byte* const product = adds ? fresh_weight_grad_ : grad;
  calls_.matmul(a, true, b, false, product, m, n, shape_.tokens);
  if (adds) calls_.add(1.0F, grad, 1.0F, product, grad, m * n);
}

namespace {

class CountingCalls final : public StepCalls {
 public:
  StepCounts counts;

  // Never read; each another, so that a square is told from a product.
  std::byte* allocate(std::int64_t) override { return reinterpret_cast<std::byte*>(++next_); }
  void matmul(const std::byte*, bool, const std::byte*, bool, std::byte*, std::int64_t m,
              std::int64_t n, std::int64_t k) override {
    ++counts.products;
    counts.product_flops +=
        2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  void copy(const std::byte*, std::byte*, std::int64_t n) override { element_wise(2 * n); }
  void add(float, const std::byte*, float, const std::byte*, std::byte*, std::int64_t n) override {
    element_wise(3 * n);
  }
  void scale(float, const std::byte*, std::byte*, std::int64_t n) override { element_wise(2 * n); }
  void multiply(float, const std::byte* a, const std::byte* b, std::byte*,
                std::int64_t n) override {
    element_wise(a == b ? 2 * n : 3 * n);
  }
  void fill(float, std::byte*, std::int64_t n) override { element_wise(n); }
  void sum(const std::byte*, float, std::byte*, std::int64_t n) override { element_wise(n); }
  void spread(const std::byte*, float, std::byte*, std::int64_t n) override { element_wise(n); }
  void all_reduce(std::byte*, std::int64_t n) override {
    ++counts.all_reduces;
    counts.all_reduced_elements += n;
  }
  void send(Way, int, const std::byte*, std::int64_t n) override {
    ++counts.sends;
    counts.sent_elements += n;
  }
  void await_sent(Way, int) override {}
  void receive(Way, std::byte*, std::int64_t) override { ++counts.receives; }
  void wait() override {}

 private:
  void element_wise(std::int64_t elements) {
    ++counts.element_wise;
    counts.element_wise_elements += elements;
  }
  std::uintptr_t next_ = 0;
};

class BackendCalls final : public StepCalls {
 public:
  BackendCalls(Backend& backend, Communicator* tensor, Communicator* pipe)
      : backend_(backend), tensor_(tensor), pipe_(pipe) {}
  ~BackendCalls() override {
    for (const auto& [data, num_elements] : allocated_) backend_.deallocate(data, num_elements);
  }

  std::byte* allocate(std::int64_t num_elements) override {
    std::byte* const data = backend_.allocate(num_elements);
    allocated_.emplace_back(data, num_elements);
    return data;
  }
  void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
              std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) override {
    backend_.matmul(a, transpose_a, b, transpose_b, c, m, n, k);
  }
  void copy(const std::byte* a, std::byte* c, std::int64_t n) override { backend_.copy(a, c, n); }
  void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
           std::int64_t n) override {
    backend_.add(alpha, a, beta, b, c, n);
  }
  void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t n) override {
    backend_.scale(alpha, a, c, n);
  }
  void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                std::int64_t n) override {
    backend_.multiply(alpha, a, b, c, n);
  }
  void fill(float value, std::byte* c, std::int64_t n) override { backend_.fill(value, c, n); }
  void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t n) override {
    backend_.sum(a, divisor, c, n);
  }
  void spread(const std::byte* a, float divisor, std::byte* c, std::int64_t n) override {
    backend_.spread(a, divisor, c, n);
  }
  void all_reduce(std::byte* c, std::int64_t n) override {
    tensor_->all_reduce({c, n}, "all-reduce by hand");
  }
  // Buffered: nothing to await.
  void send(Way way, int, const std::byte* a, std::int64_t n) override {
    const int to = way == Way::kActivation ? pipe_->rank() + 1 : pipe_->rank() - 1;
    pipe_->send({const_cast<std::byte*>(a), n}, to, "send by hand");
  }
  void await_sent(Way, int) override {}
  void receive(Way way, std::byte* c, std::int64_t n) override {
    const int from = way == Way::kActivation ? pipe_->rank() - 1 : pipe_->rank() + 1;
    pipe_->receive({c, n}, from, "receive by hand");
  }
  void wait() override {
    if (allocated_.empty()) return;
    float value = 0.0F;
    backend_.download(allocated_.front().first, {&value, 1});
  }

 private:
  Backend& backend_;
  Communicator* tensor_;
  Communicator* pipe_;
  std::vector<std::pair<std::byte*, std::int64_t>> allocated_;
};

}  // namespace

StepCounts count_step(const StepShape& shape, int num_blocks) {
  CountingCalls calls;
  const std::vector<const std::byte*> none(static_cast<std::size_t>(shape.num_micro_batches));
  StepByHand(calls, shape, std::vector<BlockWeights>(static_cast<std::size_t>(num_blocks)), none,
             none)
      .run(Extent::kWhole);
  return calls.counts;
}

std::unique_ptr<StepCalls> backend_calls(Backend& backend, Communicator* tensor,
                                         Communicator* pipe) {
  return std::make_unique<BackendCalls>(backend, tensor, pipe);
}

}  // namespace culprit
