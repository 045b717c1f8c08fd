// Cells as processes: a crash or a hang costs only that cell; harness trouble is an error.
#include "matrix/trial_runner.hpp"

#include <sys/stat.h>

#include <fstream>

#include "base/error.hpp"
#include "gtest/gtest.h"

namespace culprit {
namespace {

class TrialRunnerTest : public testing::Test {
 protected:
  // A stand-in for a scenario program, doing what the shell lines say.
  std::filesystem::path program(const std::string& lines) {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }
  Outcome run(const std::string& lines, TrialOptions options = {}) {
    options.program = program(lines);
    TrialRunner runner("stand_in", options);
    return runner.run({Cell{}})[0];
  }
};

TEST_F(TrialRunnerTest, KilledProcessIsACrashWithItsSignal) {
  const Outcome outcome = run("kill -9 $$");
  EXPECT_EQ(outcome.outcome, OutcomeClass::kCrash);
  EXPECT_EQ(outcome.kind, "SIGKILL");
}
TEST_F(TrialRunnerTest, ProcessWithoutProgressIsAHang) {
  TrialOptions options;
  options.stall_deadline = std::chrono::milliseconds(300);
  EXPECT_EQ(run("sleep 60", options).outcome, OutcomeClass::kHang);
}
TEST_F(TrialRunnerTest, UnknownExitStatusIsTroubleOfTheHarness) {
  EXPECT_THROW(run("echo broken >&2; exit 99"), SetupError);
}
TEST_F(TrialRunnerTest, OutcomeStatusWithoutALineIsTroubleOfTheHarness) { EXPECT_THROW(run("exit 10"), SetupError); }
TEST_F(TrialRunnerTest, GarbageInsteadOfALineIsTroubleOfTheHarness) {
  EXPECT_THROW(run("echo '{\"outcome\": 3}'; exit 10"), SetupError);
}
TEST_F(TrialRunnerTest, ProgramThatIsNotThereIsTroubleOfTheHarness) {
  TrialOptions options;
  options.program = "/nonexistent/program";
  TrialRunner runner("stand_in", options);
  EXPECT_THROW(runner.run({Cell{}}), SetupError);
}
TEST_F(TrialRunnerTest, CellAskedForTwiceRunsOnce) {
  std::size_t ended = 0;
  TrialOptions options;
  options.program = program("kill -9 $$");
  options.on_done = [&](const auto&, const Outcome&, const std::string&) { ++ended; };
  TrialRunner runner("stand_in", options);
  EXPECT_EQ(runner.run({Cell{}, Cell{}}).size(), 2U);
  runner.run({Cell{}});
  EXPECT_EQ(ended, 1U);
}

}  // namespace
}  // namespace culprit
