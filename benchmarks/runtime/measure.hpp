// How the runtimes' benchmarks run ranks and take times: medians of interleaved rounds.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace culprit {

using Clock = std::chrono::steady_clock;

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Runs body(rank, together) on a thread a rank. An error of one ends the program with its words and
// its exit status: the others wait for that rank at the barrier, and nothing can be saved.
inline void run_ranks(int num_ranks, const std::function<void(int, std::barrier<>&)>& body) {
  std::barrier<> together(num_ranks);
  const auto run_rank = [&](int rank) {
    try {
      body(rank, together);
    } catch (...) {
      const Trouble trouble = trouble_of(std::current_exception());
      fmt::print(stderr, "rank {}: {}\n", rank, trouble.words);
      std::fflush(nullptr);
      std::_Exit(trouble.exit_status);
    }
  };
  std::vector<std::jthread> threads;
  for (int rank = 1; rank < num_ranks; ++rank) threads.emplace_back(run_rank, rank);
  run_rank(0);
}

// One rank's side of a measurement: `step` puts work on its way, `wait` waits for all of it.
struct Side {
  std::function<void()> step, wait;
};

// Median seconds a step over `rounds` of `repeats`, of each kind in turn, so that all see the same
// clocks. Ranks start together.
inline std::vector<double> measure(std::barrier<>& together, const std::vector<Side>& kinds,
                                   int rounds, int repeats) {
  std::vector<std::vector<double>> times(kinds.size());
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      kinds[kind].wait();
      together.arrive_and_wait();
      const auto start = Clock::now();
      for (int i = 0; i < repeats; ++i) kinds[kind].step();
      kinds[kind].wait();
      if (round > 0)
        times[kind].push_back(std::chrono::duration<double>(Clock::now() - start).count() /
                              repeats);
    }
  std::vector<double> medians;
  for (auto& list : times) medians.push_back(median(std::move(list)));
  return medians;
}

}  // namespace culprit
