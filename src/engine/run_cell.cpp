#include "engine/run_cell.hpp"

#include <fmt/format.h>

#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>

#include "autograd/functions.hpp"
#include "autograd/rules.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/subject_error.hpp"
#include "engine/engine_ops.hpp"
#include "engine/rank_result_bytes.hpp"
#include "trace/rank_recorder.hpp"

namespace culprit {
namespace {

// World rank of (stage, tensor rank): tensor ranks of a stage are neighbours.
int world_rank(int stage, int tp_rank, const Cell& cell) { return stage * cell.tp + tp_rank; }

std::vector<int> tensor_group(int stage, const Cell& cell) {
  std::vector<int> members(static_cast<std::size_t>(cell.tp));
  std::iota(members.begin(), members.end(), world_rank(stage, 0, cell));
  return members;
}
std::vector<int> pipe_group(int tp_rank, const Cell& cell) {
  std::vector<int> members;
  for (int stage = 0; stage < cell.pp; ++stage) members.push_back(world_rank(stage, tp_rank, cell));
  return members;
}

// One rank's whole run.
class RankRun {
 public:
  RankRun(const Model& model, const Cell& cell, const CellRunOptions& options, World& world,
          int stage, int tp_rank)
      : model_(model),
        cell_(cell),
        options_(options),
        backend_(options.runtime->make_backend(world_rank(stage, tp_rank, cell), cell.dtype)),
        context_(*backend_, rules_of(cell.framework)) {
    context_.on_operation = options.on_operation;
    result_.stage = stage;
    result_.tp_rank = tp_rank;
    const int me = world_rank(stage, tp_rank, cell);
    // Group ids: tensor groups by stage, then the pipes by tensor rank.
    if (cell.tp > 1) tensor_comm_ = world.group(stage, tensor_group(stage, cell), me, *backend_);
    if (cell.pp > 1)
      pipe_comm_ = world.group(cell.pp + tp_rank, pipe_group(tp_rank, cell), me, *backend_);
    if (options.trace) {
      recorder_ = std::make_unique<RankRecorder>(
          context_, [this] { return stage_ ? stage_->phase() : Phase{}; });
      context_.observer = recorder_.get();
      if (tensor_comm_) tensor_comm_ = recorder_->record(std::move(tensor_comm_), "tensor");
      if (pipe_comm_) pipe_comm_ = recorder_->record(std::move(pipe_comm_), "pipe");
    }
    group_ = {.comm = tensor_comm_.get(), .rank = tp_rank, .size = cell.tp};
  }

  RankResult run() {
    make_parameters();
    EngineOps ops(context_, cell_, group_, by_name());
    const BlockRange blocks = blocks_of_stage(result_.stage, cell_);
    const StagePolicy policy{.stage = result_.stage,
                             .num_stages = cell_.pp,
                             .num_micro_batches = cell_.acc,
                             .release_sent_outputs = cell_.release,
                             .loss_division = cell_.loss_division,
                             .loss_scale = cell_.loss_scale,
                             .send_buffer = model_.send_buffer ? model_.send_buffer(cell_)
                                                               : SendBuffer::kNone,
                             .boundary = std::vector<Shape>(model_.boundary_width, activation())};
    const StageModel stage_model{
        .data = [this](int m) { return constant(ValueKind::kData, m); },
        .forward =
            [&](const std::vector<Tensor>& inputs) { return model_.run(ops, blocks, inputs); },
        .loss =
            [this](const Tensor& y, int m) {
              const Tensor off = subtract(context_, y, constant(ValueKind::kTarget, m));
              return mean(context_, square(context_, off));
            }};
    PipelineStage stage(context_, policy, stage_model, pipe_comm_.get());
    stage_ = &stage;
    if (options_.keep_micro_batch_grads) stage.on_backward_done = [this](int) { keep_grads(); };
    try {
      stage.run();
      finish(stage);
    } catch (const SubjectError& error) {
      result_.error = describe(error, stage.phase());
      result_.grads.clear();
    }
    if (tensor_comm_) result_.comm = tensor_comm_->counters();
    if (pipe_comm_) {
      result_.comm.transfers = pipe_comm_->counters().transfers;
      result_.comm.transfer_bytes = pipe_comm_->counters().transfer_bytes;
    }
    result_.memory = backend_->counters();
    if (recorder_) take_trace();
    stage_ = nullptr;
    return std::move(result_);
  }

 private:
  Shape activation() const { return {cell_.tokens, cell_.hidden}; }

  Tensor upload(const std::vector<float>& values, Shape shape, const std::string& name,
                bool stop_gradient) {
    auto impl = context_.allocate(shape);
    context_.backend().upload(values, impl->data());
    return Tensor(std::move(impl), name, stop_gradient);
  }
  Tensor constant(ValueKind value_kind, int micro_batch) {
    const std::string name =
        (value_kind == ValueKind::kData ? "data" : "target") + std::to_string(micro_batch);
    return upload(make_values(value_kind, micro_batch, 0, activation()), activation(), name,
                  /*stop_gradient=*/true);
  }
  void make_parameters() {
    for (const ParameterSpec& spec : model_.parameters(cell_)) {
      if (stage_of(spec.block, cell_) != result_.stage) continue;
      const auto whole = make_values(spec.value_kind, spec.block, spec.term, spec.shape);
      parameters_.push_back(
          upload(shard_of(whole, spec.shape, spec.split, result_.tp_rank, cell_.tp),
                 shard_shape(spec.shape, spec.split, cell_.tp), spec.name,
                 /*stop_gradient=*/!spec.trainable));
      result_.grads.push_back({.spec = spec, .grad = std::nullopt, .after_micro_batch = {}});
    }
  }
  std::map<std::string, Tensor> by_name() const {
    std::map<std::string, Tensor> map;
    for (const Tensor& parameter : parameters_) map.emplace(parameter.name(), parameter);
    return map;
  }

  // What the gradient of a parameter is worth once scaling and delayed division are taken out of
  // it.
  std::optional<std::vector<float>> grad_of(const Tensor& parameter) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) return std::nullopt;
    std::vector<float> values = grad.impl()->to_host();
    // Here and not in the cell's type, which may have no room for the quotient.
    double factor = 1.0 / cell_.loss_scale;
    if (cell_.loss_division == LossDivision::kDelayed) factor /= cell_.acc;
    for (float& value : values) value *= static_cast<float>(factor);
    return values;
  }
  void keep_grads() {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      result_.grads[i].after_micro_batch.push_back(grad_of(parameters_[i]));
  }
  void finish(const PipelineStage& stage) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      result_.grads[i].grad = grad_of(parameters_[i]);
    result_.loss = stage.loss();
    result_.released_outputs = stage.released_outputs();
  }
  void take_trace() {
    if (result_.error) recorder_->raised(result_.error->kind, result_.error->message);
    result_.trace = recorder_->take();
    result_.trace.stage = result_.stage;
    result_.trace.tp_rank = result_.tp_rank;
  }
  // Errors: UsageError where it is not known what the framework does instead.
  RankError describe(const SubjectError& error, Phase phase) const {
    if (!context_.rules().models_released_reads && error.kind() == kind::kUseAfterRelease)
      throw UsageError(fmt::format("{}: what becomes of a released output that is read is not modelled ({})",
                                   context_.rules().name, error.what()));
    RankError::Class error_class = RankError::Class::kError;
    if (dynamic_cast<const ModelledCrash*>(&error)) error_class = RankError::Class::kCrash;
    if (dynamic_cast<const HangError*>(&error)) error_class = RankError::Class::kHang;
    if (dynamic_cast<const PeerLostError*>(&error)) error_class = RankError::Class::kPeerLost;
    return {.error_class = error_class,
            .kind = error.kind(),
            .message = error.what(),
            .phase = phase,
            .in_recompute = context_.replay_depth() > 0};
  }

  const Model& model_;
  const Cell& cell_;
  const CellRunOptions& options_;
  std::unique_ptr<Backend> backend_;  // before everything that holds its memory
  Context context_;
  std::unique_ptr<RankRecorder> recorder_;  // before the communicators that it stands before
  const PipelineStage* stage_ = nullptr;    // while it runs
  std::unique_ptr<Communicator> tensor_comm_, pipe_comm_;
  TensorParallelGroup group_;
  std::vector<Tensor> parameters_;
  RankResult result_;
};

}  // namespace

namespace {

// What rank `me` came to; `broken` where it threw what is no subject's error.
struct RankEnd {
  RankResult result;
  std::exception_ptr broken;
};
RankEnd run_rank(const Model& model, const Cell& cell, const CellRunOptions& options, World& world,
                 int me) {
  RankEnd end;
  try {
    end.result = RankRun(model, cell, options, world, me / cell.tp, me % cell.tp).run();
  } catch (...) {
    end.broken = std::current_exception();
  }
  if (end.broken || end.result.error)
    world.failed(me);
  else
    world.finished(me);
  return end;
}

std::vector<RankEnd> run_threads(const Model& model, const Cell& cell,
                                 const CellRunOptions& options, World& world, int world_size) {
  std::vector<RankEnd> ends(static_cast<std::size_t>(world_size));
  const auto body = [&](int me) { ends[me] = run_rank(model, cell, options, world, me); };
  std::vector<std::jthread> threads;
  std::string cannot_start;
  for (int me = 1; me < world_size && cannot_start.empty(); ++me) try {
      threads.emplace_back(body, me);
    } catch (const std::system_error& error) {
      cannot_start =
          fmt::format("can't start a thread for rank {} of {}: {}", me, world_size, error.what());
      // Those that run must not wait for ranks that will never be.
      world.failed(0);
      for (int absent = me; absent < world_size; ++absent) world.failed(absent);
    }
  if (!cannot_start.empty()) {
    threads.clear();
    throw SetupError(cannot_start);
  }
  body(0);
  threads.clear();
  return ends;
}

// Exit status and words of a harness error, as another process can be told.
std::string describe_broken(const std::exception_ptr& broken) {
  ByteWriter writer;
  writer.put_trouble(trouble_of(broken));
  return writer.take();
}

// This process's rank, if it is one of the cell; then everybody's results to rank 0, and the first
// harness error to all.
std::vector<RankResult> run_processes(const Model& model, const Cell& cell, CellRunOptions options,
                                      World& world, int world_size) {
  ProcessGroup& processes = *options.runtime->processes();
  const int me = processes.rank();
  std::string mine;
  if (me < world_size) {
    const RankEnd end = run_rank(model, cell, options, world, me);
    ByteWriter writer;
    writer.put(end.broken != nullptr);
    writer.put_text(end.broken ? describe_broken(end.broken) : to_bytes(end.result));
    mine = writer.take();
  }
  std::vector<RankResult> results;
  std::string broken;
  for (const std::string& bytes : processes.gather(std::move(mine))) {
    if (bytes.empty()) continue;
    ByteReader reader(bytes);
    const bool is_broken = reader.get<bool>();
    const std::string text = reader.get_text();
    if (!is_broken)
      results.push_back(rank_result_from_bytes(text));
    else if (broken.empty())
      broken = text;
  }
  broken = processes.broadcast(broken);
  if (broken.empty()) return results;
  ByteReader(broken).get_trouble().raise();
}

}  // namespace

std::vector<RankResult> run_cell(const Model& model, const Cell& cell,
                                 const CellRunOptions& options) {
  validate(cell);
  const int world_size = cell.tp * cell.pp;
  const std::unique_ptr<World> world = options.runtime->make_world(world_size);
  if (options.runtime->processes())
    return run_processes(model, cell, options, *world, world_size);
  std::vector<RankResult> results;
  for (RankEnd& end : run_threads(model, cell, options, *world, world_size)) {
    if (end.broken) std::rethrow_exception(end.broken);
    results.push_back(std::move(end.result));
  }
  return results;
}

}  // namespace culprit
