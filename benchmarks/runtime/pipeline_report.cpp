#include "pipeline_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "engine/model.hpp"

namespace culprit {
namespace {

constexpr double kMostDeviation = 1e-2;

}  // namespace

StepShape shape_of(const Cell& cell, int stage) {
  return {.stage = stage,
          .num_stages = cell.pp,
          .tp = cell.tp,
          .num_micro_batches = cell.acc,
          .tokens = cell.tokens,
          .hidden = cell.hidden,
          .loss_scale = cell.loss_scale};
}

void print_counts(const PipelineOptions& options) {
  Cell cell = options.cell;
  cell.acc = options.micro_batches.front();
  const double bytes = static_cast<double>(size_of(cell.dtype));
  fmt::print(
      "\na rank's step with {} micro-batches, as written by hand (element-wise: copies of "
      "c_identity and mp_allreduce, gradients added up,\nthe loss; through this project's "
      "kernels, and left out in the column 'bare'):\n"
      "stage  products    TFLOP  element-wise      GiB  all-reduces      GiB   sends      GiB  "
      "receives\n",
      cell.acc);
  for (int stage = 0; stage < cell.pp; ++stage) {
    const BlockRange range = blocks_of_stage(stage, cell);
    const StepCounts counts = count_step(shape_of(cell, stage), range.end - range.first);
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

namespace {

using Runs = std::vector<std::vector<RankTimes>>;

// Both print a table, and append to `lines` a line for each number of micro-batches that a script
// can read. Whether the sides are comparable, and with --check also within the aim.
bool report_steps(const PipelineOptions& options, const Runs& runs, std::string& lines) {
  const Cell& cell = options.cell;
  const bool over_nccl = options.choice.comm == "nccl";
  bool ok = true;
  fmt::print(
      "\nstep, us: through the engine, by hand ({}), cuBLAS and NCCL calls alone; 'off': largest "
      "difference of a gradient or the loss by hand\n"
      "micro-batches     engine    by hand       bare   engine/hand   engine/bare       off\n",
      over_nccl ? "the same cuBLAS, NCCL and element-wise calls"
                : "the back end's calls without autograd");
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
    const bool within = ratio <= kMostRatio;
    const std::string bare = over_nccl
                                 ? fmt::format("{:>10.1f}   {:>11.3f}   {:>11.3f}",
                                               first.bare * 1e6, ratio, first.engine / first.bare)
                                 : fmt::format("{:>10}   {:>11.3f}   {:>11}", "-", ratio, "-");
    fmt::print("{:>13} {:>10.1f} {:>10.1f} {} {:>9.1e}\n", m, first.engine * 1e6, first.hand * 1e6,
               bare, off);
    lines += fmt::format(
        "step tp={} pp={} comm={} acc={} engine_us={:.1f} hand_us={:.1f} ratio={:.3f}{} "
        "off={:.1e} within={}\n",
        cell.tp, cell.pp, options.choice.comm, m, first.engine * 1e6, first.hand * 1e6, ratio,
        over_nccl ? fmt::format(" bare_us={:.1f} bare_ratio={:.3f}", first.bare * 1e6,
                                first.engine / first.bare)
                  : "",
        off, within ? "yes" : "no");
    if (!(off <= kMostDeviation) || !std::isfinite(runs[i].back().loss)) {
      fmt::print("NOT COMPARABLE: by hand comes to other numbers (loss {})\n", runs[i].back().loss);
      ok = false;
    }
    if (!same_traffic) {
      fmt::print("NOT COMPARABLE: by hand exchanges other numbers of bytes\n");
      ok = false;
    }
    if (over_nccl && options.check) ok = ok && within;
  }
  if (!over_nccl)
    fmt::print("not measured: cuBLAS and NCCL calls by hand (--comm nccl, a GPU a rank)\n");
  return ok;
}

bool report_bubble(const PipelineOptions& options, const Runs& runs, std::string& lines) {
  const Cell& cell = options.cell;
  const bool over_nccl = options.choice.comm == "nccl";
  const bool on_cpu = options.choice.device == "cpu";
  bool ok = true;
  if (cell.pp == 1) {
    fmt::print("\nno bubble: one stage\n");
    return ok;
  }
  if (!over_nccl && !on_cpu) {
    fmt::print("\nbubble not measured: all ranks share one device, where none is idle\n");
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
    const bool within = std::abs(points) <= kMostPointsOff;
    fmt::print("{:>13} {:>10.1f} {:>15.1f} {:>+9.1f} {:>13.1f}   {}\n", m, 100 * measured,
               100 * expected, points, 100 * (1.0 - m * slope / step), by_stage);
    lines += fmt::format(
        "bubble tp={} pp={} comm={} acc={} measured={:.4f} expected={:.4f} points={:+.2f} "
        "within={}\n",
        cell.tp, cell.pp, options.choice.comm, m, measured, expected, points,
        within ? "yes" : "no");
    if (over_nccl && options.check) ok = ok && within;
  }
  if (on_cpu) fmt::print("(of worth only where every rank has a core of its own)\n");
  return ok;
}

}  // namespace

bool report(const PipelineOptions& options, const std::vector<std::vector<RankTimes>>& runs) {
  std::string lines;
  bool ok = report_steps(options, runs, lines);
  ok &= report_bubble(options, runs, lines);
  fmt::print("\n{}", lines);
  return ok;
}

}  // namespace culprit
