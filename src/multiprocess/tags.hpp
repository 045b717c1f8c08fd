// Tags of a world's messages.
#pragma once

#include <cstdint>

namespace culprit {

// The group, one bit for collective or message, and a collective's number as far as it goes. Over
// as many values as the data path has: MPI promises 2^15, Open MPI has 2^23 over UCX, else 2^31.
class Tags {
 public:
  static constexpr int kMostGroups = 128;  // the engine's: a stage's each, and a pipe's each
  // Collectives of a group that may be under way at once are fewer.
  static constexpr std::int64_t kFewestCallsApart = 1024;
  static constexpr int kLeast = 2 * kMostGroups * kFewestCallsApart - 1;

  // `largest` of kLeast or more.
  explicit Tags(int largest) : calls_apart_((std::int64_t{largest} + 1) / (2 * kMostGroups)) {}
  int collective(int group, std::uint64_t call) const {
    const auto number = static_cast<std::int64_t>(call % static_cast<std::uint64_t>(calls_apart_));
    return static_cast<int>(2 * group * calls_apart_ + number);
  }
  int message(int group) const { return static_cast<int>((2 * group + 1) * calls_apart_); }

 private:
  std::int64_t calls_apart_;
};

}  // namespace culprit
