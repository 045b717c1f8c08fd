#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <stdexcept>

#include "base/error.hpp"
#include "process/process_runner.hpp"
#include "process_test_support.hpp"

namespace culprit {
namespace {

TEST(ProcessRunnerTest, TellsExitStatusAndKeepsBothStreamsApart) {
  const ProcessResult result = run_process(shell("echo out; echo err >&2; exit 7"));
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_EQ(result.value, 7);
  EXPECT_EQ(result.out.text(), "out\n");
  EXPECT_EQ(result.err.text(), "err\n");
  EXPECT_GT(result.max_rss_bytes, 0);
  EXPECT_EQ(describe(result), "exit status 7");
}

TEST(ProcessRunnerTest, TellsSignal) {
  const ProcessResult result = run_process(shell("kill -SEGV $$"));
  EXPECT_EQ(result.end, ProcessEnd::kSignalled);
  EXPECT_EQ(result.value, SIGSEGV);
  EXPECT_EQ(describe(result), "signal 11 (SIGSEGV)");
}

TEST(ProcessRunnerTest, CannotStartNamesTheCommandAndTheReason) {
  ProcessRequest request;
  request.argv = {"no-such-command-here"};
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kCannotStart);
  EXPECT_EQ(result.value, ENOENT);
  EXPECT_EQ(result.error, "cannot start 'no-such-command-here': No such file or directory");

  request.argv = {"/bin/sh", "-c", "true"};
  request.directory = "/no/such/folder";
  EXPECT_EQ(run_process(request).error,
            "cannot enter '/no/such/folder': No such file or directory");
  request.directory = "";
  request.argv = {"/etc"};
  EXPECT_EQ(run_process(request).value, EACCES);
  request.argv = {};
  EXPECT_EQ(run_process(request).end, ProcessEnd::kCannotStart);
}

TEST(ProcessRunnerTest, ScriptWithoutInterpreterLineRunsAsAShellWould) {
  TemporaryFolder folder;
  std::ofstream(folder / "script") << "echo got $1\n";
  std::filesystem::permissions(folder / "script", std::filesystem::perms::owner_all);
  ProcessRequest request;
  request.argv = {"./script", "a b"};
  request.directory = folder.string();
  EXPECT_EQ(run_process(request).out.text(), "got a b\n");
}

TEST(ProcessRunnerTest, EnvironmentIsSetUnsetAndUsedForTheLookup) {
  ::setenv("CULPRIT_TEST_A", "inherited", 1);
  ProcessRequest request = shell("echo ${CULPRIT_TEST_A-unset} ${CULPRIT_TEST_B-unset}");
  EXPECT_EQ(run_process(request).out.text(), "inherited unset\n");
  request.environment = {{"CULPRIT_TEST_A", std::nullopt}, {"CULPRIT_TEST_B", "b=1"}};
  EXPECT_EQ(run_process(request).out.text(), "unset b=1\n");
  request.argv = {"sh", "-c", "true"};
  request.environment = {{"PATH", "/no/such/folder"}};
  EXPECT_EQ(run_process(request).end, ProcessEnd::kCannotStart);
  ::unsetenv("CULPRIT_TEST_A");
}

TEST(ProcessRunnerTest, ChildStartsClean) {
  // stdin at its end, default signal dispositions and no foreign descriptors, whatever this process
  // has.
  const int leaked = ::open("/dev/null", O_RDONLY);  // no O_CLOEXEC on purpose
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const ProcessResult result =
      run_process(shell("cat; ls /proc/self/fd | wc -l; grep SigIgn /proc/self/status"));
  ::signal(SIGPIPE, before);
  ::close(leaked);
  EXPECT_EQ(result.out.text(),
            "4\nSigIgn:\t0000000000000000\n");  // 0, 1, 2 and the folder that ls reads
}

TEST(ProcessRunnerTest, HugeOutputIsBoundedAndTheChildNotBlocked) {
  ProcessRequest request =
      shell("echo first; head -c 50000000 /dev/zero; echo; echo last; echo e >&2");
  request.capture_limit_bytes = 1000;
  const ProcessResult result = run_process(request);
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_TRUE(result.out.head.starts_with("first\n"));
  EXPECT_TRUE(result.out.tail.ends_with("\nlast\n"));
  EXPECT_EQ(result.out.total_bytes(), 50000000u + 12);
  EXPECT_LE(result.out.head.size() + result.out.tail.size(), 1000u);
  EXPECT_EQ(result.err.text(), "e\n");
}

TEST(ProcessRunnerTest, ChildThatClosesItsOutputIsStillWaitedFor) {
  const ProcessResult result = run_process(shell("exec >&- 2>&-; sleep 0.2; exit 5"));
  EXPECT_EQ(result.end, ProcessEnd::kExited);
  EXPECT_EQ(result.value, 5);
  EXPECT_GE(result.wall_seconds, 0.2);
}

TEST(ProcessRunnerTest, InputIsWhatTheChildReads) {
  ProcessRequest request = shell("cat; echo end");
  request.input = std::string(200'000, 'x') + "\nlast\n";
  EXPECT_EQ(run_process(request).out.text(), request.input + "end\n");
  EXPECT_EQ(run_process(shell("cat; echo end")).out.text(), "end\n");  // none: /dev/null
}

TEST(ProcessRunnerTest, LinesAreGivenAsTheyComeAndWithoutAnUnfinishedOne) {
  const ProcessRequest requests[] = {shell("echo one; echo; sleep 0.2; printf 'two\\nunfinished'")};
  std::vector<std::string> lines;
  std::size_t lines_at_end = 0;
  const auto start = std::chrono::steady_clock::now();
  std::chrono::steady_clock::duration first_after{};
  RunOptions options;
  options.on_line = [&](std::size_t, std::string_view line) {
    if (lines.empty()) first_after = std::chrono::steady_clock::now() - start;
    lines.emplace_back(line);
  };
  std::chrono::steady_clock::duration end_after{};
  options.on_done = [&](std::size_t, ProcessResult&& result) {
    lines_at_end = lines.size();
    end_after = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(result.out.text(), "one\n\ntwo\nunfinished");
  };
  EXPECT_TRUE(run_processes(requests, options));
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two"}));
  EXPECT_EQ(lines_at_end, 3U);
  EXPECT_LT(first_after, end_after);
}

TEST(ProcessRunnerTest, RunsSeveralAtATimeAndNeverMore) {
  std::vector<ProcessRequest> requests(6, shell("sleep 0.2"));
  std::size_t running = 0;
  std::size_t most = 0;
  std::set<std::size_t> done;
  RunOptions options;
  options.jobs = 3;
  options.on_start = [&](std::size_t) { most = std::max(most, ++running); };
  options.on_done = [&](std::size_t index, ProcessResult&& result) {
    --running;
    EXPECT_EQ(result.end, ProcessEnd::kExited);
    done.insert(index);
  };
  EXPECT_TRUE(run_processes(requests, options));
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(done.size(), 6u);
}

TEST(ProcessRunnerTest, ResultsComeInOrderOfCompletion) {
  const std::vector<ProcessRequest> requests{shell("sleep 3"), shell("true")};
  std::vector<std::size_t> order;
  RunOptions options;
  options.jobs = 2;
  options.on_done = [&](std::size_t index, ProcessResult&&) { order.push_back(index); };
  run_processes(requests, options);
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 0}));
}

TEST(ProcessRunnerTest, LeavesNoZombieAndNoDescriptor) {
  const auto count_fds = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count_fds();
  std::vector<ProcessRequest> requests(20, shell("exit 1"));
  requests.push_back({});  // cannot start
  for (ProcessRequest& request : requests) request.stall_deadline = milliseconds(5000);
  RunOptions options;
  options.jobs = 4;
  run_processes(requests, options);
  EXPECT_EQ(count_fds(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(ProcessRunnerTest, ExceptionOfACallbackKillsTheOthers) {
  const std::vector<ProcessRequest> requests{shell("sleep 600"), shell("true")};
  RunOptions options;
  options.jobs = 2;
  options.on_done = [](std::size_t, ProcessResult&&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(run_processes(requests, options), std::runtime_error);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(ProcessRunnerTest, RefusesZeroJobs) {
  RunOptions options;
  options.jobs = 0;
  EXPECT_THROW(run_processes({}, options), UsageError);
}

}  // namespace
}  // namespace culprit
