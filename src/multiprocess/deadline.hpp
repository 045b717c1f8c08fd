// The end of a process that waits in a library for too long: for calls that wait for other
// processes and can't be told for how long.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "multiprocess/awake_time.hpp"

namespace culprit {

// From the end of a job that can't go on to that of a process which does not end by itself.
inline constexpr std::chrono::seconds kGrace{3};

// If it still lives after `time`, the process says on stderr what `why` gives then, and ends with
// its exit status. (All of it in the header: the plug-ins use it too, which link nothing of this
// folder.)
class Deadline {
 public:
  Deadline(std::chrono::milliseconds time, std::function<Trouble()> why)
      : thread_([this, time, why = std::move(why)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          for (AwakeTime awake; awake.passed() < time;) {
            const auto look =
                std::min<std::chrono::milliseconds>(time, AwakeTime::kLongestLook / 2);
            changed_.wait_for(lock, stop, look, [] { return false; });
            if (stop.stop_requested()) return;
          }
          // Nothing that may wait for another thread's lock, as stderr's buffer or exit() do.
          const Trouble trouble = why();
          const std::string line = "culprit: " + trouble.words + "\n";
          [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
          ::_exit(trouble.exit_status);
        }) {}

 private:
  std::mutex mutex_;  // the thread's alone
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace culprit
