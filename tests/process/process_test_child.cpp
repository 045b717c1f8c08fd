// Child program of the process tests: process_test_child MODE [ARG].
//   tick N      ticks every 20 ms, N times, without output, then exits
//   drive FILE  runs a sleeping child that writes its pid to FILE (for tests that kill the driver)
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "process/process_runner.hpp"
#include "process/progress_counter.hpp"
#include "process/stop_signal.hpp"

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "tick" && argc == 3) {
    auto progress = culprit::ProgressCounter::from_environment();
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
      progress.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return progress.is_shared() ? 0 : 3;
  }
  if (mode == "drive" && argc == 3) {
    culprit::StopSignal stop;
    culprit::ProcessRequest request;
    request.argv = {"/bin/sh", "-c", "echo $$ > " + std::string(argv[2]) + "; exec sleep 600"};
    culprit::RunOptions options;
    options.cancel_fd = stop.fd();
    int status = 4;
    options.on_done = [&](std::size_t, culprit::ProcessResult&& result) {
      if (result.end == culprit::ProcessEnd::kCancelled) status = 10 + stop.signal();
    };
    culprit::run_processes({&request, 1}, options);
    return status;
  }
  return 2;
}
