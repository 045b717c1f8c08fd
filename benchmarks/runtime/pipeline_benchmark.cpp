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
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "engine_rank.hpp"
#include "measure.hpp"
#include "pipeline_report.hpp"
#include "scenario/scenario.hpp"
#include "step_by_hand.hpp"
#if CULPRIT_BENCHMARK_NCCL
#include "cuda_step_calls.hpp"
#endif

namespace culprit {
namespace {

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

class Benchmark {
 public:
  Benchmark(const PipelineOptions& options, Runtime& runtime)
      : options_(options), runtime_(runtime), num_ranks_(options.cell.tp * options.cell.pp) {
#if CULPRIT_BENCHMARK_NCCL
    if (over_nccl()) pipes_ = std::make_unique<NcclPipes>(options.cell.tp, options.cell.pp);
#endif
  }

  bool over_nccl() const { return options_.choice.comm == "nccl"; }
  std::vector<RankTimes> run(int micro_batches) const {
    Cell cell = options_.cell;
    cell.acc = micro_batches;
    const std::unique_ptr<World> world = runtime_.make_world(num_ranks_);
    std::vector<RankTimes> times(static_cast<std::size_t>(num_ranks_));
    run_ranks(num_ranks_, [&](int me, std::barrier<>& together) {
      times[static_cast<std::size_t>(me)] = run_rank(cell, *world, me, together);
      world->finished(me);
    });
    return times;
  }

 private:
  RankTimes run_rank(const Cell& cell, World& world, int me, std::barrier<>& together) const {
    EngineRank engine(runtime_, world, scenario_named("skip_identity_leaf").model, cell, me);
    const StepShape mine = shape_of(cell, engine.stage());
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

  const PipelineOptions& options_;
  Runtime& runtime_;
  int num_ranks_;
#if CULPRIT_BENCHMARK_NCCL
  std::unique_ptr<NcclPipes> pipes_;
#endif
};

int run(const PipelineOptions& options) {
  const std::unique_ptr<Runtime> runtime = open_runtime(options.choice);
  const Cell& cell = options.cell;
  fmt::print("{}\ntp {} x pp {}, {} blocks, {} tokens a micro-batch, {} features, {}\n",
             runtime->description(), cell.tp, cell.pp, cell.blocks, cell.tokens, cell.hidden,
             name_of(cell.dtype));
  const Benchmark benchmark(options, *runtime);
  print_counts(options);
  std::fflush(stdout);
  std::vector<std::vector<RankTimes>> runs;
  for (const int m : options.micro_batches) runs.push_back(benchmark.run(m));
  return report(options, runs) ? 0 : 1;
}

}  // namespace
}  // namespace culprit

int main(int argc, char** argv) {
  using namespace culprit;
  PipelineOptions options;
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
