// What pipeline_benchmark is asked, measures and prints.
#pragma once

#include <vector>

#include "config/cell.hpp"
#include "runtime/open_runtime.hpp"
#include "step_by_hand.hpp"

namespace culprit {

inline constexpr double kMostRatio = 1.08;  // --check
inline constexpr double kMostPointsOff = 5.0;

struct PipelineOptions {
  RuntimeChoice choice;
  Cell cell;
  std::vector<int> micro_batches{2, 4, 8};
  int steps = 3, rounds = 9;
  bool check = false;
};

// What one rank measured at one number of micro-batches, in seconds.
struct RankTimes {
  double engine = 0, hand = 0, bare = 0, busy = 0;
  double deviation = 0;  // of the hand's gradients and loss from the engine's
  double loss = 0;
  bool same_traffic = true;
};

// The part of a rank of that stage.
StepShape shape_of(const Cell& cell, int stage);

// What a step consists of, by stage.
void print_counts(const PipelineOptions& options);
// The ratio of the aim, and the bubble, from a list of ranks for each number of micro-batches;
// whether all is as --check wants it.
bool report(const PipelineOptions& options, const std::vector<std::vector<RankTimes>>& runs);

}  // namespace culprit
