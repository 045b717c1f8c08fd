// One rank of a training step through the engine, as pipeline_benchmark times it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autograd/context.hpp"
#include "comm/communicator.hpp"
#include "comm/runtime.hpp"
#include "engine/model.hpp"
#include "parallel/tensor_parallel_group.hpp"

namespace culprit {

// One rank of the engine's side, its memory made once.
class EngineRank {
 public:
  // All but `me` outlive it.
  EngineRank(Runtime& runtime, World& world, const Model& model, const Cell& cell, int me);

  void step() { run(pipe_.get()); }
  // The same work without waiting for other stages.
  void step_with_cut_pipe() { run(cut_.get()); }
  // Waits until all that the backend was given is done.
  void finish();

  int stage() const { return stage_; }
  int tp_rank() const { return tp_rank_; }
  Backend& backend() { return *backend_; }
  Communicator* tensor() { return tensor_.get(); }
  Communicator* pipe() { return pipe_.get(); }
  const TensorImpl& weight(const std::string& name) const { return *weights_.at(name); }
  const std::vector<std::shared_ptr<TensorImpl>>& data() const { return data_; }
  const std::vector<std::shared_ptr<TensorImpl>>& targets() const { return targets_; }
  // Of the last step.
  double loss() const { return loss_; }
  std::vector<float> grad(const std::string& name) const;

 private:
  Shape activation() const { return {cell_.tokens, cell_.hidden}; }
  std::shared_ptr<TensorImpl> random(const std::string& name, int tp_rank, Shape shape,
                                     double deviation);
  void run(Communicator* pipe);

  const Model& model_;
  const Cell& cell_;
  int stage_, tp_rank_;
  std::unique_ptr<Backend> backend_;
  Context context_;
  std::unique_ptr<Communicator> tensor_, pipe_, cut_;
  TensorParallelGroup group_;
  std::map<std::string, std::shared_ptr<TensorImpl>> weights_;
  std::vector<std::shared_ptr<TensorImpl>> data_, targets_;
  std::map<std::string, Tensor> parameters_;
  double loss_ = 0.0;
};

}  // namespace culprit
