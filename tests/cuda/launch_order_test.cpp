// The order of launches is the ranks' threads' alone, so it is tested without a device.
#include "cuda/launch_order.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace culprit::cuda {
namespace {

constexpr int kDevices = 3;
using Turns = std::vector<LaunchOrder::Turn>;

Turns take(LaunchOrder& order, const std::vector<int>& devices) {
  const auto all = order.lock();
  Turns turns;
  for (const int device : devices) turns.push_back(order.next_turn(device));
  return turns;
}

// Threads put jobs of their own on devices chosen by chance. The logs have no lock: a device's turn
// is one thread's.
TEST(LaunchOrderTest, WhatSharesDevicesIsPutOnAllInOneOrder) {
  LaunchOrder order(kDevices);
  std::array<std::vector<int>, kDevices> logs;
  int num_jobs = 0;
  const auto body = [&](unsigned seed) {
    std::minstd_rand random(seed);
    std::array<int, kDevices> devices;
    std::iota(devices.begin(), devices.end(), 0);
    for (int i = 0; i < 500; ++i) {
      std::shuffle(devices.begin(), devices.end(), random);
      const std::size_t num_chosen = 1 + random() % kDevices;
      Turns turns;
      int job = 0;
      {
        const auto all = order.lock();
        job = num_jobs++;
        for (std::size_t d = 0; d < num_chosen; ++d) turns.push_back(order.next_turn(devices[d]));
      }
      const InTurn in_turn(order, turns);
      for (const LaunchOrder::Turn& turn : turns)
        logs[static_cast<std::size_t>(turn.device)].push_back(job);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(body, seed);
  }
  EXPECT_EQ(num_jobs, 2000);
  for (const std::vector<int>& log : logs) {
    EXPECT_GT(log.size(), 1000U);
    EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
  }
}

// Else a rank's launch would wait for its peer's host; and this test would not end.
TEST(LaunchOrderTest, ADeviceDoesNotWaitForTheTurnOfAnother) {
  LaunchOrder order(2);
  const Turns first = take(order, {0, 1}), second = take(order, {0, 1});
  for (const LaunchOrder::Turn& turn : {first[0], second[0], first[1], second[1]})
    const InTurn part(order, std::array{turn});
}

TEST(LaunchOrderTest, WhatThrowsEndsItsTurns) {
  LaunchOrder order(2);
  const Turns failing = take(order, {0, 1}), next = take(order, {1, 0});
  std::atomic<bool> is_put{false};
  std::jthread waiting([&] {
    const InTurn in_turn(order, next);
    is_put = true;
  });
  try {
    const InTurn in_turn(order, failing);
    EXPECT_FALSE(is_put);
    throw std::runtime_error("a device call");
  } catch (const std::runtime_error&) {
  }
  waiting.join();
  EXPECT_TRUE(is_put);
}

}  // namespace
}  // namespace culprit::cuda
