#include "engine_rank.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include "autograd/functions.hpp"
#include "autograd/rules.hpp"
#include "engine/engine_ops.hpp"
#include "pipeline/stage.hpp"

namespace culprit {
namespace {

// This rank's values of one tensor: uniform, with the deviation that keeps a product's as it is, so
// that no number overflows at any size. Seeded by name and rank, not by layout.
std::vector<float> random_values(const std::string& name, int tp_rank, std::int64_t count,
                                 double deviation) {
  std::seed_seq seed(name.begin(), name.end());
  std::minstd_rand random(seed);
  random.discard(static_cast<unsigned>(tp_rank));
  std::minstd_rand mine(random());
  const double width = deviation * std::sqrt(12.0) / static_cast<double>(std::minstd_rand::max());
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values)
    value = static_cast<float>(static_cast<double>(mine()) * width - deviation * std::sqrt(3.0));
  return values;
}

// A pipe that is cut at both ends of its stage: what comes in is always there, and is put where it
// is wanted by a copy of values kept for it; what goes out is dropped.
class CutPipe final : public Communicator {
 public:
  CutPipe(Backend& backend, int rank, int size, Tensor stand_in)
      : backend_(backend), rank_(rank), size_(size), stand_in_(std::move(stand_in)) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void all_reduce(Elements, const std::string& what) override {
    throw std::logic_error("[cut pipe] " + what);
  }
  std::unique_ptr<Work> start_all_reduce(Elements, const std::string& what) override {
    throw std::logic_error("[cut pipe] " + what);
  }
  void all_gather(Elements, Elements, const std::string& what) override {
    throw std::logic_error("[cut pipe] " + what);
  }
  void send(Elements, int, const std::string&) override {}
  std::unique_ptr<Work> start_send(Elements, int, const std::string& what) override {
    throw std::logic_error("[cut pipe] " + what);
  }
  void send_none(int, const std::string&) override {}
  bool receive(Elements buffer, int, const std::string&) override {
    backend_.copy(stand_in_.impl()->data(), buffer.data, buffer.num_elements);
    return true;
  }

 private:
  Backend& backend_;
  int rank_, size_;
  Tensor stand_in_;
};

}  // namespace

EngineRank::EngineRank(Runtime& runtime, World& world, const Model& model, const Cell& cell, int me)
    : model_(model),
      cell_(cell),
      stage_(me / cell.tp),
      tp_rank_(me % cell.tp),
      backend_(runtime.make_backend(me, cell.dtype)),
      context_(*backend_, rules_of(cell.framework)) {
  std::vector<int> tensor_members, pipe_members;
  for (int r = 0; r < cell.tp; ++r) tensor_members.push_back(stage_ * cell.tp + r);
  for (int s = 0; s < cell.pp; ++s) pipe_members.push_back(s * cell.tp + tp_rank_);
  if (cell.tp > 1) tensor_ = world.group(stage_, tensor_members, me, *backend_);
  if (cell.pp > 1) pipe_ = world.group(cell.pp + tp_rank_, pipe_members, me, *backend_);
  group_ = {.comm = tensor_.get(), .rank = tp_rank_, .size = cell.tp};
  for (const ParameterSpec& spec : model.parameters(cell))
    if (stage_of(spec.block, cell) == stage_)
      weights_.emplace(spec.name,
                       random(spec.name, tp_rank_, shard_shape(spec.shape, spec.split, cell.tp),
                              1.0 / std::sqrt(static_cast<double>(spec.shape.rows))));
  for (int m = 0; m < cell.acc; ++m) {
    if (stage_ == 0) data_.push_back(random("data" + std::to_string(m), 0, activation(), 0.5));
    if (stage_ == cell.pp - 1)
      targets_.push_back(random("target" + std::to_string(m), 0, activation(), 0.5));
  }
  cut_ = std::make_unique<CutPipe>(
      *backend_, stage_, cell.pp,
      Tensor(random("stand-in", 0, activation(), 0.5), "stand-in", /*stop_gradient=*/true));
  finish();
}

void EngineRank::finish() {
  float value = 0.0F;
  backend_->download(weights_.begin()->second->data(), {&value, 1});
}

std::vector<float> EngineRank::grad(const std::string& name) const {
  return parameters_.at(name).grad().impl()->to_host();
}

std::shared_ptr<TensorImpl> EngineRank::random(const std::string& name, int tp_rank, Shape shape,
                                               double deviation) {
  auto impl = context_.allocate(shape);
  backend_->upload(random_values(name, tp_rank, shape.num_elements(), deviation), impl->data());
  return impl;
}

void EngineRank::run(Communicator* pipe) {
  // Fresh handles on the same memory: without the last step's gradients.
  parameters_.clear();
  for (const auto& [name, impl] : weights_)
    parameters_.emplace(name, Tensor(impl, name, /*stop_gradient=*/false));
  EngineOps ops(context_, cell_, group_, parameters_);
  const StagePolicy policy{.stage = stage_,
                           .num_stages = cell_.pp,
                           .num_micro_batches = cell_.acc,
                           .loss_scale = cell_.loss_scale,
                           .boundary = {activation()}};
  const auto at = [](int m) { return static_cast<std::size_t>(m); };
  const StageModel stage_model{
      // It takes a gradient, as what a stage receives does: so all stages do the same work,
      // which the bubble's formula assumes (the last has the loss on top).
      .data = [&](int m) { return Tensor(data_[at(m)], "data", /*stop_gradient=*/false); },
      .forward =
          [&](const std::vector<Tensor>& inputs) {
            return model_.run(ops, blocks_of_stage(stage_, cell_), inputs);
          },
      .loss =
          [&](const Tensor& y, int m) {
            const Tensor target(targets_[at(m)], "target", /*stop_gradient=*/true);
            return mean(context_, square(context_, subtract(context_, y, target)));
          }};
  PipelineStage stage(context_, policy, stage_model, pipe);
  stage.run();
  loss_ = stage.loss();
}

}  // namespace culprit
