#include "process/progress_counter.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "process_test_support.hpp"

namespace culprit {
namespace {

TEST(ProgressCounterTest, TicksKeepASilentChildAlive) {
  ProcessRequest request;
  request.argv = {CULPRIT_TEST_CHILD, "tick", "150"};  // 3 s at least
  request.stall_deadline = milliseconds(2000);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kExited) << describe(result);
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.ticks, 150u);
}

TEST(ProgressCounterTest, TicksComeThroughALauncherThatPassesNoDescriptorsOn) {
  ProcessRequest request;
  request.argv = {"python3",
                  "-c",
                  "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
                  CULPRIT_TEST_CHILD,
                  "tick",
                  "200"};
  request.stall_deadline = milliseconds(3000);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.value, 0) << describe(result);
  EXPECT_EQ(result.ticks, 200u);
}

TEST(ProgressCounterTest, ChildWithoutTicksStalls) {
  ProcessRequest request = shell("exec sleep 600");
  request.stall_deadline = milliseconds(300);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kStalled);
}

TEST(ProgressCounterTest, IsPrivateWithoutADriver) {
  ProcessRequest request;
  request.argv = {CULPRIT_TEST_CHILD, "tick", "1"};
  EXPECT_EQ(run_process(request).value, 3);  // works, but is not shared
}

TEST(ProgressCounterTest, ForeignDescriptorIsLeftAlone) {
  TemporaryFolder folder;
  std::ofstream(folder / "file") << std::string(128, 'x');  // of the size of the counter's page
  const int fd = ::open((folder / "file").c_str(), O_RDWR);
  for (const std::string& value : {std::to_string(fd), std::string("999999"), std::string("-1"),
                                   std::string("7x"), std::string("")}) {
    ::setenv(kProgressVariable, value.c_str(), 1);
    ProgressCounter counter = ProgressCounter::from_environment();
    counter.tick();
    EXPECT_FALSE(counter.is_shared()) << value;
    EXPECT_EQ(counter.read(), 1u);
  }
  ::unsetenv(kProgressVariable);
  ::close(fd);
  std::ifstream file(folder / "file");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), {}), std::string(128, 'x'));
}

TEST(ProgressCounterTest, CountsTicksOfAllThreads) {
  ProgressCounter counter = ProgressCounter::create();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) counter.tick();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.read(), 4000u);
}

}  // namespace
}  // namespace culprit
