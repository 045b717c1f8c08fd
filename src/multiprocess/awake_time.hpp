// What deadlines of ranks as processes count.
#pragma once

#include <algorithm>
#include <chrono>

namespace culprit {

// Time that passes for a process: not while it is suspended, as far as it looks often.
class AwakeTime {
 public:
  using Duration = std::chrono::steady_clock::duration;
  static constexpr std::chrono::milliseconds kLongestLook{500};

  // Since the object was made, as far as it was asked meanwhile.
  Duration passed() {
    const auto now = std::chrono::steady_clock::now();
    passed_ += std::min<Duration>(now - looked_, kLongestLook);
    looked_ = now;
    return passed_;
  }

 private:
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  Duration passed_{};
};

}  // namespace culprit
