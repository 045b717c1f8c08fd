// A training step of the pipeline written out by hand: the products, element-wise operations,
// collectives and transfers of one rank, in the order in which the engine comes to them, without
// autograd. Through which calls is the caller's choice (StepCalls).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/communicator.hpp"
#include "tensor/backend.hpp"

namespace culprit {

// Which way a message goes along the pipe: activations to the next stage, gradients to the one
// before.
enum class Way { kActivation, kGradient };

// What a rank's step is made of. All are put on their way in the order of the calls; arithmetic as
// the Backend's operations of the same names.
class StepCalls {
 public:
  virtual ~StepCalls() = default;
  // Memory for as long as this object lives.
  virtual std::byte* allocate(std::int64_t num_elements) = 0;
  virtual void matmul(const std::byte* a, bool transpose_a, const std::byte* b, bool transpose_b,
                      std::byte* c, std::int64_t m, std::int64_t n, std::int64_t k) = 0;
  virtual void copy(const std::byte* a, std::byte* c, std::int64_t n) = 0;
  virtual void add(float alpha, const std::byte* a, float beta, const std::byte* b, std::byte* c,
                   std::int64_t n) = 0;
  virtual void scale(float alpha, const std::byte* a, std::byte* c, std::int64_t n) = 0;
  virtual void multiply(float alpha, const std::byte* a, const std::byte* b, std::byte* c,
                        std::int64_t n) = 0;
  virtual void fill(float value, std::byte* c, std::int64_t n) = 0;
  virtual void sum(const std::byte* a, float divisor, std::byte* c, std::int64_t n) = 0;
  virtual void spread(const std::byte* a, float divisor, std::byte* c, std::int64_t n) = 0;
  // In place, over the tensor-parallel group.
  virtual void all_reduce(std::byte* c, std::int64_t n) = 0;
  // Beside what comes after it: `a` must stay until await_sent(way, slot).
  virtual void send(Way way, int slot, const std::byte* a, std::int64_t n) = 0;
  // What is done next may write what was last sent from that slot.
  virtual void await_sent(Way way, int slot) = 0;
  virtual void receive(Way way, std::byte* c, std::int64_t n) = 0;
  // Until all of it is done.
  virtual void wait() = 0;
};

// The rank's part of the model and of the job.
struct StepShape {
  int stage = 0;
  int num_stages = 1;
  int tp = 1;
  int num_micro_batches = 1;
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  double loss_scale = 1.0;
};

// A block of the rank's stage: a column-parallel and a row-parallel weight, this rank's shard of
// each.
struct BlockWeights {
  const std::byte* column;  // [hidden, hidden / tp]
  const std::byte* row;     // [hidden / tp, hidden]
};

// With kBare the element-wise operations are left out, so that cuBLAS and NCCL calls alone remain:
// the same products and collectives of numbers that mean nothing.
enum class Extent { kWhole, kBare };

class StepByHand {
 public:
  // `data` of the first stage, `targets` of the last: one [tokens, hidden] a micro-batch. All
  // outlive the object.
  StepByHand(StepCalls& calls, const StepShape& shape, std::vector<BlockWeights> blocks,
             std::vector<const std::byte*> data, std::vector<const std::byte*> targets);

  // One exchange of each kind, each waited for. All ranks call it before the first step: NCCL
  // connects two ranks at their first exchange, in which the hosts of both take part, and a host
  // that is held up so may be one that a message under way waits for.
  void connect();
  // One step, in 1F1B order.
  void run(Extent extent);

  // Of the last whole step.
  const std::byte* column_grad(int block) const { return grads_[at(block)].column; }
  const std::byte* row_grad(int block) const { return grads_[at(block)].row; }
  // One element: the micro-batch's loss over the number of micro-batches. Last stage only.
  const std::byte* loss(int micro_batch) const { return losses_.at(at(micro_batch)); }

  static int num_slots(const StepShape& shape);

 private:
  struct Layer {
    std::byte *copy, *inner, *out;     // of its input, between the products, after both
    const std::byte* input = nullptr;  // what its first product read
  };
  // What a micro-batch in flight keeps.
  struct Slot {
    std::byte *received = nullptr, *sent_grad = nullptr;
    std::vector<Layer> layers;
  };
  struct BlockGrads {
    std::byte *column, *row;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  bool first() const { return shape_.stage == 0; }
  bool last() const { return shape_.stage == shape_.num_stages - 1; }
  bool whole() const { return extent_ == Extent::kWhole; }
  void forward(int micro_batch);
  void backward(int micro_batch);
  void loss_forward(const std::byte* y, int micro_batch);
  const std::byte* loss_backward();
  // Adds the product a^T b to `grad`; the first micro-batch's becomes it.
  void weight_grad(int micro_batch, const std::byte* a, const std::byte* b, std::byte* grad,
                   std::int64_t m, std::int64_t n);

  StepCalls& calls_;
  StepShape shape_;
  std::int64_t activation_, shard_;  // elements of [tokens, hidden]; hidden / tp
  std::vector<BlockWeights> blocks_;
  std::vector<const std::byte*> data_, targets_;
  std::vector<Slot> slots_;
  std::vector<BlockGrads> grads_;
  std::vector<std::byte*> losses_;
  std::byte *received_grad_ = nullptr, *grad_copy_, *inner_grad_, *flow_[2], *fresh_weight_grad_;
  std::byte *off_ = nullptr, *squares_ = nullptr, *loss_grads_[3] = {}, *scalars_[4] = {};
  Extent extent_ = Extent::kWhole;
};

// What a step consists of.
struct StepCounts {
  int products = 0, element_wise = 0, all_reduces = 0, sends = 0, receives = 0;
  double product_flops = 0;
  std::int64_t element_wise_elements = 0;  // read and written
  std::int64_t all_reduced_elements = 0, sent_elements = 0;
};
// Of one whole step of that rank with `num_blocks` blocks.
StepCounts count_step(const StepShape& shape, int num_blocks);

// The calls of a rank's backend and communicators: what the engine uses, less autograd. `tensor`
// and `pipe` may be null at size 1. Everything outlives the object.
std::unique_ptr<StepCalls> backend_calls(Backend& backend, Communicator* tensor,
                                         Communicator* pipe);

}  // namespace culprit
