// Cells as processes: a crash or a hang costs only that cell; harness trouble is an error.
#include <sys/stat.h>

#include <fstream>

#include "base/error.hpp"
#include "gtest/gtest.h"
#include "matrix/trial_runner.hpp"
#include "outcome/outcome_json.hpp"

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
TEST_F(TrialRunnerTest, OutcomeStatusWithoutALineIsTroubleOfTheHarness) {
  EXPECT_THROW(run("exit 10"), SetupError);
}
TEST_F(TrialRunnerTest, GarbageInsteadOfALineIsTroubleOfTheHarness) {
  EXPECT_THROW(run("echo '{\"outcome\": 3}'; exit 10"), SetupError);
}
TEST_F(TrialRunnerTest, ProgramThatIsNotThereIsTroubleOfTheHarness) {
  TrialOptions options;
  options.program = "/nonexistent/program";
  TrialRunner runner("stand_in", options);
  EXPECT_THROW(runner.run({Cell{}}), SetupError);
}

// A stand-in for mpirun, which gives the number of ranks and the program with its flags.
TEST_F(TrialRunnerTest, AJobThatWasLostIsACrashInItsOwnWords) {
  TrialOptions options;
  options.launcher = {
      program("echo '[node] *** Process received signal ***' >&2; echo \"$(basename $2): "
              "rank 1 is gone\" >&2; exit 137")
          .string()};
  options.program = "/nowhere/stand_in_job";
  TrialRunner runner("stand_in", options);
  const Outcome outcome = runner.run({Cell{}})[0];
  EXPECT_EQ(outcome.outcome, OutcomeClass::kCrash);
  EXPECT_EQ(outcome.kind, "SIGKILL");
  EXPECT_EQ(outcome.message, "stand_in_job: rank 1 is gone");
}
TEST_F(TrialRunnerTest, AJobThatIsLostAfterItsCellWasJudgedKeepsThat) {
  for (const int status : {16, 137}) {
    TrialOptions options;
    options.launcher = {program("echo '" + to_json_line("stand_in", Cell{}, Outcome{}) +
                                "'; exit " + std::to_string(status))
                            .string()};
    options.program = "/nowhere/stand_in_job";
    TrialRunner runner("stand_in", options);
    EXPECT_EQ(runner.run({Cell{}})[0].outcome, OutcomeClass::kPass) << status;
  }
}

TEST_F(TrialRunnerTest, ALauncherThatHangsIsTroubleOfTheHarness) {
  const auto run_job = [&](const std::string& lines) {
    TrialOptions options;
    options.launcher = {program(lines).string()};
    options.program = "/nowhere/stand_in_job";
    options.stall_deadline = std::chrono::milliseconds(1000);
    options.launcher_margin = std::chrono::milliseconds(2000);
    return TrialRunner("stand_in", options).run({Cell{}})[0];
  };
  EXPECT_THROW(run_job("sleep 60"), SetupError);
  // After the cell was judged that costs nothing.
  EXPECT_EQ(run_job("echo '" + to_json_line("stand_in", Cell{}, Outcome{}) + "'; sleep 60").outcome,
            OutcomeClass::kPass);
}

// A stand-in for a worker: answers each line of its input with an outcome line, and does on the
// cell of hidden 16 what `on_sixteen` says.
class WorkerTest : public TrialRunnerTest {
 protected:
  std::vector<Outcome> run_worker(const std::string& on_sixteen, std::size_t jobs = 1) {
    Outcome pass;
    const std::string line = to_json_line("stand_in", Cell{}, pass);
    TrialOptions options;
    options.program = program("echo start >>" + log() +
                              "\nwhile read -r flags; do\n  case $flags in\n    *hidden=16*) " +
                              on_sixteen + " ;;\n  esac\n  echo '" + line + "'\ndone");
    options.flags = {"--device=stand-in"};
    options.many_cells_a_process = true;
    options.jobs = jobs;
    options.stall_deadline = std::chrono::milliseconds(4000);
    options.on_done = [this](const auto& flags, const Outcome&, const std::string&) {
      order.push_back(flags.back());
    };
    TrialRunner runner("stand_in", options);
    std::vector<Cell> cells(5);
    for (int i = 0; i < 5; ++i) cells[i].hidden = 12 + 2 * i;  // the third is 16
    return runner.run(cells);
  }
  std::string log() const {
    return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() +
           ".log";
  }
  int started() {
    std::ifstream in(log());
    int count = 0;
    for (std::string line; std::getline(in, line);) ++count;
    return count;
  }
  void SetUp() override { std::filesystem::remove(log()); }
  std::vector<std::string> order;
};

TEST_F(WorkerTest, OneProcessRunsAllCells) {
  for (const Outcome& outcome : run_worker(":")) EXPECT_EQ(outcome.outcome, OutcomeClass::kPass);
  EXPECT_EQ(started(), 1);
  EXPECT_EQ(order, (std::vector<std::string>{"--hidden=12", "--hidden=14", "--hidden=16",
                                             "--hidden=18", "--hidden=20"}));
}
TEST_F(WorkerTest, CrashCostsItsCellAndANewWorker) {
  const auto outcomes = run_worker("kill -9 $$");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(outcomes[i].outcome, i == 2 ? OutcomeClass::kCrash : OutcomeClass::kPass) << i;
  EXPECT_EQ(outcomes[2].kind, "SIGKILL");
  EXPECT_EQ(started(), 2);
}
TEST_F(WorkerTest, StallCostsItsCellAndANewWorker) {
  const auto outcomes = run_worker("sleep 60");
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(outcomes[i].outcome, i == 2 ? OutcomeClass::kHang : OutcomeClass::kPass) << i;
  EXPECT_EQ(started(), 2);
}
TEST_F(WorkerTest, SeveralWorkersShareTheCells) {
  for (const Outcome& outcome : run_worker(":", 2)) EXPECT_EQ(outcome.outcome, OutcomeClass::kPass);
  EXPECT_EQ(started(), 2);
  EXPECT_EQ(order.size(), 5U);
}
TEST_F(WorkerTest, WhatItLacksIsUnavailableInItsOwnWords) {
  try {
    run_worker("echo 'no such device' >&2; exit 77");
    ADD_FAILURE();
  } catch (const UnavailableError& error) {
    EXPECT_EQ(std::string(error.what()), "no such device");
  }
}
TEST_F(WorkerTest, OneThatStopsAnsweringOrAnswersGarbageIsTroubleOfTheHarness) {
  EXPECT_THROW(run_worker("exit 0"), SetupError);
  EXPECT_THROW(run_worker("echo garbage"), SetupError);
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
