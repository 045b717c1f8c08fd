// Children that do not end by themselves, and drivers that are killed. What should be killed would
// live for longer than a test may take; deadlines leave a child the time to come to its place on a
// machine that is busy.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "process/process_runner.hpp"
#include "process/stop_signal.hpp"
#include "process_test_support.hpp"

namespace culprit {
namespace {

ProcessRequest with_deadline(const std::string& line, int deadline_ms) {
  ProcessRequest request = shell(line);
  request.deadline = milliseconds(deadline_ms);
  return request;
}

TEST(ProcessKillTest, DeadlineKillsTheWholeGroup) {
  const ProcessResult result =
      run_process(with_deadline("sleep 600 & echo $!; echo text; wait", 2000));
  EXPECT_EQ(result.end, ProcessEnd::kDeadline);
  EXPECT_NE(result.out.text().find("text"), std::string::npos);
  EXPECT_TRUE(dies(pid_in(result.out.text())));
}

TEST(ProcessKillTest, SigtermGivesAChanceToCleanUp) {
  const ProcessResult result =
      run_process(with_deadline("trap 'echo cleaned; exit 0' TERM; sleep 600 & wait", 2000));
  EXPECT_EQ(result.end, ProcessEnd::kDeadline);
  EXPECT_EQ(result.out.text(), "cleaned\n");
}

TEST(ProcessKillTest, ChildThatIgnoresSigtermIsKilledAfterTheGrace) {
  ProcessRequest request = with_deadline("trap '' TERM; while :; do sleep 0.05; done", 2000);
  request.kill_grace = milliseconds(300);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kDeadline);
  EXPECT_GE(result.wall_seconds, 2.3);
}

TEST(ProcessKillTest, StoppedChildStalls) {
  ProcessRequest request = shell("kill -STOP $$; echo never");
  request.stall_deadline = milliseconds(300);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kStalled);
}

TEST(ProcessKillTest, StallCountsOutputAsLife) {
  ProcessRequest request = shell("for i in 1 2 3 4 5 6; do sleep 0.6; echo $i; done; sleep 600");
  request.stall_deadline = milliseconds(3000);
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kStalled);
  EXPECT_EQ(result.out.text(), "1\n2\n3\n4\n5\n6\n");
  EXPECT_GE(result.wall_seconds, 6.6);
}

TEST(ProcessKillTest, WhatTheChildLeavesInItsGroupIsKilled) {
  const ProcessResult result = run_process(shell("sleep 600 & echo $!"));
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_TRUE(dies(pid_in(result.out.text())));
}

TEST(ProcessKillTest, DaemonHoldingTheOutputIsNotWaitedFor) {
  const ProcessResult result =
      run_process(shell("setsid sh -c 'echo $$; exec sleep 600' & sleep 0.3; echo done"));
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_TRUE(result.out.text().ends_with("done\n"));
  ::kill(pid_in(result.out.text()), SIGKILL);
}

TEST(ProcessKillTest, DaemonThatFloodsTheOutputIsNotWaitedFor) {
  const ProcessResult result = run_process(shell("setsid sh -c 'echo $$; exec yes' & sleep 0.3"));
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_TRUE(dies(pid_in(result.out.text())));  // of SIGPIPE, since nobody reads
}

TEST(ProcessKillTest, CancellationKillsTheRunningAndStartsNoMore) {
  StopSignal stop;
  const std::vector<ProcessRequest> requests(5, shell("sleep 600"));
  std::vector<ProcessEnd> ends;
  RunOptions options;
  options.jobs = 2;
  options.cancel_fd = stop.fd();
  options.on_start = [&](std::size_t index) {
    if (index == 1) ::raise(SIGTERM);
  };
  options.on_done = [&](std::size_t, ProcessResult&& result) { ends.push_back(result.end); };
  EXPECT_FALSE(run_processes(requests, options));
  EXPECT_EQ(ends, (std::vector<ProcessEnd>{ProcessEnd::kCancelled, ProcessEnd::kCancelled}));
  EXPECT_EQ(stop.signal(), SIGTERM);
}

// Starts a driver process (this test's child) that runs a sleeping child, kills the driver with
// `number`, and returns the driver's wait status; the sleeping child's pid goes to `sleeper`.
int kill_driver(int number, pid_t& sleeper) {
  TemporaryFolder folder;
  const std::string pid_file = folder / "pid";
  const pid_t driver = ::fork();
  if (driver == 0) {
    ::execl(CULPRIT_TEST_CHILD, CULPRIT_TEST_CHILD, "drive", pid_file.c_str(), nullptr);
    ::_exit(127);
  }
  sleeper = pid_in(wait_for_file(pid_file));
  ::kill(driver, number);
  int status = 0;
  ::waitpid(driver, &status, 0);
  return status;
}

TEST(ProcessKillTest, ChildDiesWithItsKilledDriver) {
  pid_t sleeper = 0;
  const int status = kill_driver(SIGKILL, sleeper);
  ASSERT_GT(sleeper, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(dies(sleeper));
}

TEST(ProcessKillTest, InterruptedDriverKillsItsChildAndGoesOn) {
  pid_t sleeper = 0;
  const int status = kill_driver(SIGINT, sleeper);
  ASSERT_GT(sleeper, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 10 + SIGINT);
  EXPECT_TRUE(dies(sleeper));
}

TEST(StopSignalTest, RestoresTheHandlersAndIsSingle) {
  struct sigaction before {};
  struct sigaction after {};
  ::sigaction(SIGINT, nullptr, &before);
  {
    StopSignal stop;
    EXPECT_FALSE(stop.is_stopped());
    EXPECT_THROW(StopSignal(), std::logic_error);
    ::raise(SIGINT);
    EXPECT_EQ(stop.signal(), SIGINT);
    struct sigaction now {};
    ::sigaction(SIGINT, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL);  // the second one is obeyed
  }
  ::sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  StopSignal again;
  EXPECT_FALSE(again.is_stopped());
}

}  // namespace
}  // namespace culprit
