// One pipeline stage of one tensor-parallel rank: what it does with each micro-batch.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/context.hpp"
#include "autograd/tensor.hpp"
#include "comm/communicator.hpp"

namespace culprit {

// When the loss is divided by the number of micro-batches: in the last stage's forward, or once on the
// accumulated gradients at the end of the step (the framework's enable_delay_scale_loss).
enum class LossDivision { kImmediate, kDelayed };

// Through what a stage sends its activations: straight from them; or, half by half, through one
// buffer that is written again for the next half once the send of the one before has ended
// (kOneWaited), or without waiting for that (kOneNotWaited): the buffer is given up in flight.
enum class SendBuffer { kNone, kOneWaited, kOneNotWaited };

struct StagePolicy {
  int stage = 0;
  int num_stages = 1;
  int num_micro_batches = 1;
  bool release_sent_outputs = false;
  LossDivision loss_division = LossDivision::kImmediate;
  double loss_scale = 1.0;
  SendBuffer send_buffer = SendBuffer::kNone;
  std::vector<Shape> boundary;  // what a stage sends to the next, [T, H] each
};

// What the model does; all run on the rank's own Context.
struct StageModel {
  std::function<Tensor(int micro_batch)> data;               // stage 0: [T, H], stops gradients
  // This stage's layers. Stage 0 gets the data alone, the others `boundary`; the last gives the model's
  // output alone, the others `boundary`.
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> forward;
  std::function<Tensor(const Tensor& y, int micro_batch)> loss;  // last stage: [1, 1], undivided
};

// Which pass of which micro-batch a rank is in.
struct Phase {
  enum class Pass { kStart, kForward, kBackward, kFinish };
  Pass pass = Pass::kStart;
  int micro_batch = 0;
};

// "start", "forward", "backward", "finish".
const char* pass_name(Phase::Pass pass);

class PipelineStage {
 public:
  // `pipe` is the group of this tensor rank's stages in stage order; null for a single stage. All
  // references must outlive the object.
  PipelineStage(Context& context, const StagePolicy& policy, const StageModel& model, Communicator* pipe)
      : context_(context), policy_(policy), model_(model), pipe_(pipe) {}

  // One step: every micro-batch forward and backward in 1F1B order. Errors: SubjectError; phase() then
  // tells where. Peers that wait for this rank's next message see it leave.
  void run();
  // Called after each micro-batch's backward.
  std::function<void(int micro_batch)> on_backward_done;

  Phase phase() const { return phase_; }
  double loss() const { return loss_; }           // sum over micro-batches of mean / M; last stage only
  int released_outputs() const { return released_outputs_; }

 private:
  void forward(int micro_batch);
  void backward(int micro_batch);
  std::vector<Tensor> receive_inputs(int micro_batch);
  void send_outputs(const std::vector<Tensor>& outputs, int micro_batch);
  void send_through_buffer(const Tensor& output, const std::string& what);
  void receive_from_buffer(const Tensor& input, const std::string& what);
  // The next stage sent none for `output`. Errors: NO_INPUT_GRAD, NO_GRAD_FN.
  [[noreturn]] void refuse_no_gradient(const Tensor& output) const;
  Tensor divided_and_scaled(const Tensor& loss);
  // Reads the micro-batches' losses, at the end of the step: earlier the host would wait for the
  // device in each of them and could not run ahead of it.
  void add_up_losses();
  bool first() const { return policy_.stage == 0; }
  bool last() const { return policy_.stage == policy_.num_stages - 1; }

  Context& context_;
  const StagePolicy& policy_;
  const StageModel& model_;
  Communicator* pipe_;
  Phase phase_;
  double loss_ = 0.0;
  std::vector<std::shared_ptr<TensorImpl>> losses_;  // of the micro-batches, not yet read
  int released_outputs_ = 0;
  std::deque<std::vector<Tensor>> inputs_, outputs_;  // of the micro-batches in flight, oldest first
  Tensor send_buffer_;
  std::vector<std::unique_ptr<Work>> sends_;  // from it, which goes after them
};

}  // namespace culprit
