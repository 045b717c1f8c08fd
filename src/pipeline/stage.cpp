#include "pipeline/stage.hpp"

#include <fmt/format.h>

#include <array>

#include "autograd/backward.hpp"
#include "autograd/functions.hpp"
#include "pipeline/schedule.hpp"

namespace culprit {

const char* pass_name(Phase::Pass pass) {
  switch (pass) {
    case Phase::Pass::kStart:
      return "start";
    case Phase::Pass::kForward:
      return "forward";
    case Phase::Pass::kBackward:
      return "backward";
    case Phase::Pass::kFinish:
      return "finish";
  }
  return "";
}

void PipelineStage::run() {
  run_1f1b(
      policy_.stage, policy_.num_stages, policy_.num_micro_batches, [this](int m) { forward(m); },
      [this](int m) { backward(m); });
  phase_ = {Phase::Pass::kFinish, 0};
  add_up_losses();
}

void PipelineStage::forward(int micro_batch) {
  phase_ = {Phase::Pass::kForward, micro_batch};
  const std::vector<Tensor> inputs =
      first() ? std::vector<Tensor>{model_.data(micro_batch)} : receive_inputs(micro_batch);
  std::vector<Tensor> outputs = model_.forward(inputs);
  if (last())
    outputs = {divided_and_scaled(model_.loss(outputs.at(0), micro_batch))};
  else
    send_outputs(outputs, micro_batch);
  inputs_.push_back(inputs);
  outputs_.push_back(std::move(outputs));
}

std::vector<Tensor> PipelineStage::receive_inputs(int micro_batch) {
  std::vector<Tensor> inputs;
  for (const Shape shape : policy_.boundary) {
    // Rule 16: a received activation is a fresh leaf that needs a gradient.
    inputs.push_back(context_.wrap(context_.allocate(shape), /*stop_gradient=*/false));
    const std::string what = fmt::format("receive of activation {}", micro_batch);
    if (policy_.send_buffer == SendBuffer::kNone)
      pipe_->receive(raw_elements(inputs.back()), policy_.stage - 1, what);
    else
      receive_from_buffer(inputs.back(), what);
    context_.operation_done();
  }
  return inputs;
}

void PipelineStage::send_outputs(const std::vector<Tensor>& outputs, int micro_batch) {
  for (const Tensor& output : outputs) {
    const std::string what = fmt::format("send of activation {}", micro_batch);
    if (policy_.send_buffer == SendBuffer::kNone)
      pipe_->send(raw_elements(output), policy_.stage + 1, what);
    else
      send_through_buffer(output, what);
  }
  if (!policy_.release_sent_outputs) return;
  const FrameworkRules& rules = context_.rules();
  for (const Tensor& output : outputs) {
    if (rules.release_refuses_views && output.object()->is_view)
      throw SubjectError(kind::kReleasedView, "counter-productive to free a view of another tensor.");
    // Rule 16: whatever was written in place may still be someone's input and is kept.
    if (!rules.releases_any_version && output.impl()->inplace_version() != 0) continue;
    output.release();
    ++released_outputs_;
  }
}

namespace {

// The halves of a tensor's memory; the first is the longer.
std::array<Elements, 2> halves(Context& context, const Tensor& tensor) {
  const Elements whole = raw_elements(tensor);
  const std::int64_t first = (whole.num_elements + 1) / 2;
  return {Elements{whole.data, first},
          Elements{whole.data + context.backend().num_bytes(first), whole.num_elements - first}};
}

}  // namespace

void PipelineStage::send_through_buffer(const Tensor& output, const std::string& what) {
  for (const Elements half : halves(context_, output)) {
    if (policy_.send_buffer == SendBuffer::kOneWaited && !sends_.empty()) {
      sends_.back()->wait();
      sends_.clear();
    }
    if (!send_buffer_.defined()) send_buffer_ = context_.wrap(context_.allocate({1, half.num_elements}));
    std::byte* const buffer = send_buffer_.impl()->data();
    context_.backend().copy(half.data, buffer, half.num_elements);
    sends_.push_back(pipe_->start_send({buffer, half.num_elements}, policy_.stage + 1, what));
  }
}

void PipelineStage::receive_from_buffer(const Tensor& input, const std::string& what) {
  for (const Elements half : halves(context_, input)) pipe_->receive(half, policy_.stage - 1, what);
}

void PipelineStage::refuse_no_gradient(const Tensor& output) const {
  // Rule 31: the root itself is looked at first.
  if (context_.rules().stopped_root_is_error && output.stop_gradient()) culprit::backward(context_, {output}, {Tensor()});
  if (!context_.rules().speaks_torch)
    throw SubjectError(kind::kNoInputGrad,
                       "backward(): argument 'grad_tensors' must be paddle.Tensor, but got NoneType: the next "
                       "stage sent no gradient of its input");
  throw SubjectError(kind::kNoInputGrad,
                     output.released()
                         ? "invalid gradient at index 0 - got [1] but expected shape compatible with the released output's"
                         : "grad can be implicitly created only for scalar outputs");
}

Tensor PipelineStage::divided_and_scaled(const Tensor& loss) {
  const double share = 1.0 / policy_.num_micro_batches;
  const bool immediate = policy_.loss_division == LossDivision::kImmediate;
  const Tensor divided = immediate ? scale(context_, loss, share) : loss;
  losses_.push_back(divided.impl());
  return policy_.loss_scale == 1.0 ? divided : scale(context_, divided, policy_.loss_scale);
}

void PipelineStage::add_up_losses() {
  const bool divided = policy_.loss_division == LossDivision::kImmediate;
  const double share = divided ? 1.0 : 1.0 / policy_.num_micro_batches;
  for (const auto& loss : losses_) loss_ += static_cast<double>(loss->to_host()[0]) * share;
  losses_.clear();
}

void PipelineStage::backward(int micro_batch) {
  phase_ = {Phase::Pass::kBackward, micro_batch};
  const std::vector<Tensor> inputs = std::move(inputs_.front());
  const std::vector<Tensor> outputs = std::move(outputs_.front());
  inputs_.pop_front();
  outputs_.pop_front();
  std::vector<Tensor> grads(outputs.size());
  for (std::size_t i = 0; !last() && i < outputs.size(); ++i) {
    grads[i] = context_.wrap(context_.allocate(policy_.boundary[i]));
    if (!pipe_->receive(raw_elements(grads[i]), policy_.stage + 1, fmt::format("receive of gradient {}", micro_batch)))
      refuse_no_gradient(outputs[i]);
    context_.operation_done();
  }
  culprit::backward(context_, outputs, grads);
  const std::string what = fmt::format("send of gradient {}", micro_batch);
  for (std::size_t i = 0; !first() && i < inputs.size(); ++i) {
    if (const Tensor input_grad = inputs[i].grad(); input_grad.defined())
      pipe_->send(raw_elements(input_grad), policy_.stage - 1, what);
    else
      pipe_->send_none(policy_.stage - 1, what);
  }
  if (on_backward_done) on_backward_done(micro_batch);
}

}  // namespace culprit
