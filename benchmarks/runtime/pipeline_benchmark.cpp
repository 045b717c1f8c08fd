// A training step of the reported bug's model in tensor and pipeline parallel: through this engine,
// and as a sequence of the same calls written by hand, in one run; and the pipeline's bubble.
//   pipeline_benchmark --tp 2 --pp 2 --device cuda --comm nccl        needs tp x pp GPUs
// Every time is a median. What is timed: micro-batches forward and backward in the engine's own
// schedule (1F1B), gradients accumulated; parameters and data are made before, no optimizer, no
// reference.
//
// The bubble is the share of a step in which a stage, on average, has nothing to do:
//   (T_step - T_busy) / T_step.
// T_busy is timed, not reckoned: each stage does the same micro-batches with its pipe cut, so that
// it waits for no other stage (CutPipe), but still for its tensor-parallel group. What a transfer
// costs beyond the work that hides it counts as bubble, as does a host that comes too late: in the
// engine a receiver's host waits until the sender's host has put the message on its way (not until
// it has been sent), so the devices' timeline is what is seen as long as the hosts run ahead. All
// times end with a device that has ended its work. Beside it stands the bubble of the line through
// T_step at the fewest and the most micro-batches, M * slope / T_step, which needs no second run
// but sees the filling and draining of the pipe alone.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "autograd/functions.hpp"
#include "autograd/rules.hpp"
#include "base/error.hpp"
#include "engine/engine_ops.hpp"
#include "engine/model.hpp"
#include "measure.hpp"
#include "pipeline/stage.hpp"
#include "runtime/open_runtime.hpp"
#include "scenario/scenario.hpp"
#include "step_by_hand.hpp"
#if CULPRIT_BENCHMARK_NCCL
#include "cuda_step_calls.hpp"
#endif

namespace culprit {
namespace {

constexpr double kMostRatio = 1.08;  // --check
constexpr double kMostPointsOff = 5.0;
constexpr double kMostDeviation = 1e-2;

struct Options {
  RuntimeChoice choice;
  Cell cell;
  std::vector<int> micro_batches{2, 4, 8};
  int steps = 3, rounds = 9;
  bool check = false;
};

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

// One rank of the engine's side, its memory made once.
class EngineRank {
 public:
  EngineRank(Runtime& runtime, World& world, const Model& model, const Cell& cell, int me)
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

  void step() { run(pipe_.get()); }
  // The same work without waiting for other stages.
  void step_with_cut_pipe() { run(cut_.get()); }
  // Waits until all that the backend was given is done.
  void finish() {
    float value = 0.0F;
    backend_->download(weights_.begin()->second->data(), {&value, 1});
  }

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
  std::vector<float> grad(const std::string& name) const {
    return parameters_.at(name).grad().impl()->to_host();
  }

 private:
  Shape activation() const { return {cell_.tokens, cell_.hidden}; }
  std::shared_ptr<TensorImpl> random(const std::string& name, int tp_rank, Shape shape,
                                     double deviation) {
    auto impl = context_.allocate(shape);
    backend_->upload(random_values(name, tp_rank, shape.num_elements(), deviation), impl->data());
    return impl;
  }
  void run(Communicator* pipe) {
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

std::string column_name(int block) { return fmt::format("col{}.0", block); }
std::string row_name(int block) { return fmt::format("row{}", block); }

// Largest difference, over the largest entry.
double deviation(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0.0, largest = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(off <= worst)) worst = off;  // a NaN stays
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  return worst / largest;
}

// What one rank measured at one number of micro-batches, in seconds.
struct RankTimes {
  double engine = 0, hand = 0, bare = 0, busy = 0;
  double deviation = 0;  // of the hand's gradients and loss from the engine's
  double loss = 0;
  bool same_traffic = true;
};

class Benchmark {
 public:
  Benchmark(const Options& options, Runtime& runtime)
      : options_(options), runtime_(runtime), num_ranks_(options.cell.tp * options.cell.pp) {
#if CULPRIT_BENCHMARK_NCCL
    if (over_nccl()) pipes_ = std::make_unique<NcclPipes>(options.cell.tp, options.cell.pp);
#endif
  }

  bool over_nccl() const { return options_.choice.comm == "nccl"; }
  StepShape shape(int stage, int micro_batches) const {
    const Cell& cell = options_.cell;
    return {.stage = stage,
            .num_stages = cell.pp,
            .tp = cell.tp,
            .num_micro_batches = micro_batches,
            .tokens = cell.tokens,
            .hidden = cell.hidden,
            .loss_scale = cell.loss_scale};
  }

  std::vector<RankTimes> run(int micro_batches) const {
    Cell cell = options_.cell;
    cell.acc = micro_batches;
    const std::unique_ptr<World> world = runtime_.make_world(num_ranks_);
    std::barrier<> together(num_ranks_);
    std::vector<RankTimes> times(static_cast<std::size_t>(num_ranks_));
    const auto body = [&](int me) {
      try {
        times[static_cast<std::size_t>(me)] = run_rank(cell, *world, me, together);
        world->finished(me);
      } catch (const std::exception& error) {
        // The others wait for this rank at a barrier: nothing of this run can be saved.
        fmt::print(stderr, "rank {}: {}\n", me, error.what());
        std::fflush(nullptr);
        const auto* known = dynamic_cast<const Error*>(&error);
        std::_Exit(known ? known->exit_status() : 3);
      }
    };
    std::vector<std::jthread> threads;
    for (int me = 1; me < num_ranks_; ++me) threads.emplace_back(body, me);
    body(0);
    threads.clear();
    return times;
  }

 private:
  RankTimes run_rank(const Cell& cell, World& world, int me, std::barrier<>& together) const {
    EngineRank engine(runtime_, world, scenario_named("skip_identity_leaf").model, cell, me);
    const StepShape mine = shape(engine.stage(), cell.acc);
    const BlockRange range = blocks_of_stage(engine.stage(), cell);
    const std::unique_ptr<StepCalls> calls = make_calls(engine, mine);
    std::vector<BlockWeights> weights;
    for (int b = range.first; b < range.end; ++b)
      weights.push_back({engine.weight(column_name(b)).data(), engine.weight(row_name(b)).data()});
    const auto memory_of = [](const std::vector<std::shared_ptr<TensorImpl>>& list) {
      std::vector<const std::byte*> memory;
      for (const auto& impl : list) memory.push_back(impl->data());
      return memory;
    };
    StepByHand hand(*calls, mine, weights, memory_of(engine.data()), memory_of(engine.targets()));
    // One whole step of each, to be compared; both have warmed up then.
    RankTimes result;
    together.arrive_and_wait();
    engine.step();
    engine.finish();
    result.same_traffic = has_traffic_of(engine, count_step(mine, range.end - range.first));
#if CULPRIT_BENCHMARK_NCCL
    if (over_nccl()) {
      set_alone(*calls, true);
      hand.run(Extent::kWhole);
      calls->wait();
      set_alone(*calls, false);
    }
#endif
    together.arrive_and_wait();
    hand.connect();
    together.arrive_and_wait();
    hand.run(Extent::kWhole);
    calls->wait();
    result.deviation = compare(engine, hand, range, cell.acc);
    result.loss = engine.loss();

    std::vector<Side> kinds{{[&] { engine.step(); }, [&] { engine.finish(); }},
                            {[&] { hand.run(Extent::kWhole); }, [&] { calls->wait(); }},
                            {[&] { engine.step_with_cut_pipe(); }, [&] { engine.finish(); }}};
    if (over_nccl()) kinds.push_back({[&] { hand.run(Extent::kBare); }, [&] { calls->wait(); }});
    const std::vector<double> medians = measure(together, kinds, options_.rounds, options_.steps);
    result.engine = medians[0];
    result.hand = medians[1];
    result.busy = medians[2];
    if (over_nccl()) result.bare = medians[3];
    together.arrive_and_wait();
    return result;
  }

  std::unique_ptr<StepCalls> make_calls(EngineRank& engine, const StepShape& mine) const {
#if CULPRIT_BENCHMARK_NCCL
    if (over_nccl()) return cuda_step_calls(mine, engine.tp_rank(), options_.cell.dtype, *pipes_);
#endif
    static_cast<void>(mine);
    return backend_calls(engine.backend(), engine.tensor(), engine.pipe());
  }

  // Whether the step that the engine has run exchanged what the sequence by hand does.
  bool has_traffic_of(EngineRank& engine, const StepCounts& counts) const {
    CommCounters seen;
    if (engine.tensor()) seen = engine.tensor()->counters();
    if (engine.pipe()) {
      seen.transfers = engine.pipe()->counters().transfers;
      seen.transfer_bytes = engine.pipe()->counters().transfer_bytes;
    }
    Backend& backend = engine.backend();
    return seen.collectives == counts.all_reduces && seen.transfers == counts.sends &&
           seen.collective_bytes == backend.num_bytes(counts.all_reduced_elements) &&
           seen.transfer_bytes == backend.num_bytes(counts.sent_elements);
  }

  static double compare(EngineRank& engine, const StepByHand& hand, BlockRange range,
                        int micro_batches) {
    const auto values = [&](const std::byte* data, std::size_t count) {
      std::vector<float> host(count);
      engine.backend().download(data, host);
      return host;
    };
    double worst = 0.0;
    const auto against = [&](const std::vector<float>& here, const std::byte* there) {
      const double off = deviation(values(there, here.size()), here);
      if (!(off <= worst)) worst = off;
    };
    for (int b = range.first; b < range.end; ++b) {
      against(engine.grad(column_name(b)), hand.column_grad(b - range.first));
      against(engine.grad(row_name(b)), hand.row_grad(b - range.first));
    }
    if (engine.targets().empty()) return worst;
    double loss = 0.0;
    for (int m = 0; m < micro_batches; ++m) loss += static_cast<double>(values(hand.loss(m), 1)[0]);
    const double off = std::abs(loss - engine.loss()) / std::max(1e-30, std::abs(loss));
    return off <= worst ? worst : off;
  }

  const Options& options_;
  Runtime& runtime_;
  int num_ranks_;
#if CULPRIT_BENCHMARK_NCCL
  std::unique_ptr<NcclPipes> pipes_;
#endif
};

void print_counts(const Benchmark& benchmark, const Options& options) {
  const Cell& cell = options.cell;
  const double bytes = static_cast<double>(size_of(cell.dtype));
  fmt::print(
      "\na rank's step with {} micro-batches, as written by hand (element-wise: copies of "
      "c_identity and mp_allreduce, gradients added up,\nthe loss; through this project's "
      "kernels, and left out in the column 'bare'):\n"
      "stage  products    TFLOP  element-wise      GiB  all-reduces      GiB   sends      GiB  "
      "receives\n",
      options.micro_batches.front());
  for (int stage = 0; stage < cell.pp; ++stage) {
    const BlockRange range = blocks_of_stage(stage, cell);
    const StepCounts counts =
        count_step(benchmark.shape(stage, options.micro_batches.front()), range.end - range.first);
    const auto gib = [&](std::int64_t elements) {
      return bytes * static_cast<double>(elements) / (1 << 30);
    };
    fmt::print("{:>5} {:>9} {:>8.3f} {:>13} {:>8.3f} {:>12} {:>8.3f} {:>7} {:>8.3f} {:>9}\n", stage,
               counts.products, counts.product_flops / 1e12, counts.element_wise,
               gib(counts.element_wise_elements), counts.all_reduces,
               gib(counts.all_reduced_elements), counts.sends, gib(counts.sent_elements),
               counts.receives);
  }
}

// The ratio of the aim, and the bubble; whether all is as --check wants it.
bool report(const Options& options, const std::vector<std::vector<RankTimes>>& runs) {
  const Cell& cell = options.cell;
  const bool over_nccl = options.choice.comm == "nccl";
  const bool on_cpu = options.choice.device == "cpu";
  bool ok = true;
  fmt::print(
      "\nstep, us: through the engine, by hand ({}), cuBLAS and NCCL calls alone; 'off': largest "
      "difference of a gradient or the loss by hand\n"
      "micro-batches     engine    by hand       bare   engine/hand   engine/bare       off\n",
      over_nccl ? "the same cuBLAS, NCCL and element-wise calls"
                : "the back end's calls without autograd");
  std::string lines;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int m = options.micro_batches[i];
    const RankTimes& first = runs[i].front();  // the first stage ends last
    double off = 0.0;
    bool same_traffic = true;
    for (const RankTimes& rank : runs[i]) {
      if (!(rank.deviation <= off)) off = rank.deviation;
      same_traffic &= rank.same_traffic;
    }
    const double ratio = first.engine / first.hand;
    const std::string bare = over_nccl
                                 ? fmt::format("{:>10.1f}   {:>11.3f}   {:>11.3f}",
                                               first.bare * 1e6, ratio, first.engine / first.bare)
                                 : fmt::format("{:>10}   {:>11.3f}   {:>11}", "-", ratio, "-");
    fmt::print("{:>13} {:>10.1f} {:>10.1f} {} {:>9.1e}\n", m, first.engine * 1e6, first.hand * 1e6,
               bare, off);
    lines += fmt::format(
        "step tp={} pp={} comm={} acc={} engine_us={:.1f} hand_us={:.1f} ratio={:.3f}{} "
        "off={:.1e}\n",
        cell.tp, cell.pp, options.choice.comm, m, first.engine * 1e6, first.hand * 1e6, ratio,
        over_nccl ? fmt::format(" bare_us={:.1f} bare_ratio={:.3f}", first.bare * 1e6,
                                first.engine / first.bare)
                  : "",
        off);
    if (!(off <= kMostDeviation) || !std::isfinite(runs[i].back().loss)) {
      fmt::print("NOT COMPARABLE: by hand comes to other numbers (loss {})\n", runs[i].back().loss);
      ok = false;
    }
    if (!same_traffic) {
      fmt::print("NOT COMPARABLE: by hand exchanges other numbers of bytes\n");
      ok = false;
    }
    if (over_nccl && !(ratio <= kMostRatio)) ok = ok && !options.check;
  }
  if (!over_nccl)
    fmt::print("not measured: cuBLAS and NCCL calls by hand (--comm nccl, a GPU a rank)\n");
  if (cell.pp == 1) {
    fmt::print("\nno bubble: one stage\n\n{}", lines);
    return ok;
  }
  if (!over_nccl && !on_cpu) {
    fmt::print("\nbubble not measured: all ranks share one device, where none is idle\n\n{}",
               lines);
    return ok;
  }
  fmt::print(
      "\nbubble, % of the step\nmicro-batches   measured   (S-1)/(M+S-1)    points   by the line   "
      "busy, us by stage\n");
  const int fewest = options.micro_batches.front(), most = options.micro_batches.back();
  const double slope =
      runs.size() < 2 || most == fewest
          ? std::nan("")
          : (runs.back().front().engine - runs.front().front().engine) / (most - fewest);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int m = options.micro_batches[i];
    const double step = runs[i].front().engine;
    double busy = 0.0;
    std::string by_stage;
    for (int stage = 0; stage < cell.pp; ++stage) {
      const double mine = runs[i][static_cast<std::size_t>(stage * cell.tp)].busy;
      busy += mine / cell.pp;
      by_stage += fmt::format(" {:.1f}", mine * 1e6);
    }
    const double measured = 1.0 - busy / step;
    const double expected = static_cast<double>(cell.pp - 1) / (m + cell.pp - 1);
    const double points = 100.0 * (measured - expected);
    fmt::print("{:>13} {:>10.1f} {:>15.1f} {:>+9.1f} {:>13.1f}   {}\n", m, 100 * measured,
               100 * expected, points, 100 * (1.0 - m * slope / step), by_stage);
    lines += fmt::format(
        "bubble tp={} pp={} comm={} acc={} measured={:.4f} expected={:.4f} points={:+.2f}\n",
        cell.tp, cell.pp, options.choice.comm, m, measured, expected, points);
    if (over_nccl && !(std::abs(points) <= kMostPointsOff)) ok = ok && !options.check;
  }
  if (on_cpu) fmt::print("(of worth only where every rank has a core of its own)\n");
  fmt::print("\n{}", lines);
  return ok;
}

int run(const Options& options) {
  const std::unique_ptr<Runtime> runtime = open_runtime(options.choice);
  const Cell& cell = options.cell;
  fmt::print("{}\ntp {} x pp {}, {} blocks, {} tokens a micro-batch, {} features, {}\n",
             runtime->description(), cell.tp, cell.pp, cell.blocks, cell.tokens, cell.hidden,
             name_of(cell.dtype));
  const Benchmark benchmark(options, *runtime);
  print_counts(benchmark, options);
  std::fflush(stdout);
  std::vector<std::vector<RankTimes>> runs;
  for (const int m : options.micro_batches) runs.push_back(benchmark.run(m));
  return report(options, runs) ? 0 : 1;
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  using namespace culprit;
  Options options;
  Cell& cell = options.cell;
  cell.tokens = 2048;
  cell.hidden = 4096;
  cell.embed = false;  // the first stage would have two products more than the others
  cell.dtype = DType::kFloat16;
  // A float16 loss of some 0.5 has room for it, and its gradients are not below the normal range.
  cell.loss_scale = 16384.0;
  int blocks = 0;
  std::string dtype = "float16";
  CLI::App app{
      "A training step in tensor and pipeline parallel against the same calls by hand, and the "
      "pipeline's bubble. Exit status: 0; 1 the sides do not agree, or --check; 2 usage; 3 could "
      "not set up; 77 hardware missing."};
  const auto defaults = [](CLI::Option* option) { option->capture_default_str(); };
  defaults(app.add_option("--tp", cell.tp, "tensor-parallel ranks")->check(CLI::Range(1, 64)));
  defaults(app.add_option("--pp", cell.pp, "pipeline stages")->check(CLI::Range(1, 64)));
  defaults(app.add_option("--device", options.choice.device, "cpu or cuda"));
  defaults(app.add_option("--comm", options.choice.comm,
                          "local: all ranks on one device; nccl: a GPU a rank"));
  defaults(app.add_option("--tokens", cell.tokens, "a micro-batch")->check(CLI::Range(1, 1 << 20)));
  defaults(app.add_option("--hidden", cell.hidden, "features")->check(CLI::Range(1, 1 << 20)));
  app.add_option("--blocks", blocks, "in all, spread over the stages (default: 4 a stage)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--acc", options.micro_batches, "micro-batches a step, e.g. 2,4,8")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  defaults(app.add_option("--dtype", dtype, "float32, float16 or bfloat16"));
  defaults(app.add_option("--loss-scale", cell.loss_scale, "factor on the loss"));
  defaults(app.add_option("--steps", options.steps, "steps a round")->check(CLI::Range(1, 1000)));
  defaults(app.add_option("--rounds", options.rounds, "rounds, of which the median is taken")
               ->check(CLI::Range(1, 1000)));
  app.add_flag("--check", options.check,
               fmt::format("exit 1 where a step is over {} x by hand, or a bubble {} points off",
                           kMostRatio, kMostPointsOff));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    cell.blocks = blocks > 0 ? blocks : 4 * cell.pp;
    field("dtype").set(cell, dtype);
    std::sort(options.micro_batches.begin(), options.micro_batches.end());
    if (options.choice.comm == "nccl" && options.choice.device == "cpu")
      options.choice.device = "cuda";
    if (options.choice.comm == "mpi" || options.choice.device.starts_with("cuda:"))
      throw UsageError(
          "--comm local or nccl, --device cpu or cuda: ranks are threads, from GPU 0 on");
#if !CULPRIT_BENCHMARK_NCCL
    if (options.choice.comm == "nccl") throw UnavailableError("--comm nccl: built without NCCL");
#endif
    for (const int m : options.micro_batches) {
      cell.acc = m;
      validate(cell);
    }
    return run(options);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_status();
  }
}
