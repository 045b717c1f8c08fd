#include "target/command_runner.hpp"

#include <atomic>

#include "process/stop_signal.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

class CommandRunnerTest : public testing::Test {
 protected:
  // A target whose command is `line` for sh, with the toggles' words as $1, $2, ...
  CommandSpec spec(const std::string& line, std::vector<std::string> toggles = {"a=A|", "b=B|"}) {
    CommandSpec result;
    result.command = "sh -c " + quote_word(line) + " sh {toggles}";
    result.toggles = std::move(toggles);
    return result;
  }
  CommandRunnerOptions options() {
    CommandRunnerOptions result;
    result.work_directory = folder_.string();
    result.on_trial = [this](const FinishedTrial&) { ++ran_; };
    return result;
  }
  Journal journal(const CommandTarget& target) {
    return Journal::resume(folder_ / "journal", {target.space(), target.description()}, "host");
  }
  std::vector<std::string> fingerprints(const CommandTarget& target,
                                        const std::vector<Assignment>& batch,
                                        CommandRunnerOptions with) {
    Journal trials = journal(target);
    std::vector<std::string> result;
    for (const Trial& trial : make_evaluate(target, trials, std::move(with))(batch))
      result.push_back(trial.status == Trial::Status::kPass   ? "pass"
                       : trial.status == Trial::Status::kFail ? trial.fingerprint
                                                              : "unresolved");
    return result;
  }

  TemporaryFolder folder_;
  int ran_ = 0;
};

using Texts = std::vector<std::string>;
const std::vector<Assignment> kAll{{0, 0}, {0, 1}, {1, 0}, {1, 1}};

TEST_F(CommandRunnerTest, GivesResultsInTheBatchsOrder) {
  const CommandTarget target(
      spec("test \"$*\" != 'A B' || { sleep 0.3; exit 3; }; test \"$*\" != B || exit 127"));
  CommandRunnerOptions with = options();
  with.jobs = 4;
  EXPECT_EQ(fingerprints(target, kAll, with), (Texts{"EXIT:3", "pass", "unresolved", "pass"}));
  EXPECT_EQ(ran_, 4);  // the reference answered for {1, 1}
}

TEST_F(CommandRunnerTest, ResumedRunRepeatsNothingAndRepeatsCount) {
  const CommandTarget target(
      spec("echo x >> " + quote_word(folder_ / "log") + "; test \"$*\" != 'A B'"));
  const std::vector<Assignment> batch{{0, 0}, {1, 1}, {0, 0}, {0, 1}};
  EXPECT_EQ(fingerprints(target, batch, options()), (Texts{"EXIT:1", "pass", "EXIT:1", "pass"}));
  EXPECT_EQ(ran_, 4);
  EXPECT_EQ(fingerprints(target, batch, options()), (Texts{"EXIT:1", "pass", "EXIT:1", "pass"}));
  EXPECT_EQ(ran_, 4);
  EXPECT_EQ(fingerprints(target, {{0, 0}, {0, 0}, {0, 0}}, options()).size(), 3u);
  EXPECT_EQ(ran_, 5);  // only the third one is new
  EXPECT_EQ(read_text(folder_ / "log").size(), 10u);
}

TEST_F(CommandRunnerTest, FailingReferenceIsAnErrorWithItsOutputAndIsTriedAgain) {
  const CommandTarget target(
      spec("echo to out; echo to err >&2; test -e " + quote_word(folder_ / "repaired")));
  for (const char* part :
       {"all toggles off, does not pass: exit status 1", "sh -c", "to out", "to err"})
    EXPECT_USAGE_ERROR(fingerprints(target, kAll, options()), part);
  write_text(folder_ / "repaired", "");
  EXPECT_EQ(fingerprints(target, {{0, 0}}, options()), Texts{"pass"});
}

TEST_F(CommandRunnerTest, ComparesDumpsWithTheReference) {
  CommandSpec with = spec(
      "test \"$2\" != A || echo '{\"loss\":1,\"w\":[1,2,3]}' > $1; test \"$2\" != B || exit 0; "
      "test \"$*\" != \"$1 A B\" || echo '{\"loss\":1,\"w\":[1,NaN,3]}' > $1; "
      "test -n \"$2\" || echo '{\"loss\":1,\"w\":[1,2,3.00001]}' > $1");
  with.command = "sh -c " +
                 quote_word(
                     "f=$1; shift; case \"$*\" in '') echo '{\"loss\":1,\"w\":[1,2,3]}' > $f;; "
                     "A) echo '{\"loss\":1,\"w\":[1,2,3.00001]}' > $f;; "
                     "'A B') echo '{\"loss\":1,\"w\":[1,NaN,3]}' > $f;; esac") +
                 " sh {dump.json} {toggles}";
  const CommandTarget target(with);
  EXPECT_EQ(fingerprints(target, kAll, options()),
            (Texts{"DUMP:nan:w", "pass", "DUMP:none", "pass"}));
  // Resumed: the reference's dump was kept, so nothing runs again and new repeats are compared.
  ran_ = 0;
  EXPECT_EQ(fingerprints(target, {{0, 0}, {0, 0}}, options()), (Texts{"DUMP:nan:w", "DUMP:nan:w"}));
  EXPECT_EQ(ran_, 1);
  // Lost: it is made again, and only it.
  ran_ = 0;
  std::filesystem::remove(folder_ / "reference-dump");
  EXPECT_EQ(fingerprints(target, {{0, 1}}, options()), Texts{"pass"});
  EXPECT_EQ(ran_, 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.string()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("dump-")) << entry.path();
}

TEST_F(CommandRunnerTest, StaleFixedDumpIsNotTakenForAnewOne) {
  CommandSpec with = spec("test \"$1\" = A || echo '{\"w\":1}' > " + quote_word(folder_ / "grads"));
  with.dump_path = folder_ / "grads";
  const CommandTarget target(with);
  EXPECT_EQ(fingerprints(target, kAll, options()),
            (Texts{"DUMP:none", "DUMP:none", "pass", "pass"}));
  CommandRunnerOptions parallel = options();
  parallel.jobs = 2;
  EXPECT_USAGE_ERROR(fingerprints(target, kAll, parallel), "--jobs 1");
}

TEST_F(CommandRunnerTest, ReferenceWithoutAUsableDumpIsAnError) {
  CommandSpec with = spec("true");
  with.command = "sh -c 'echo \"$1\" > $2' sh '{content}' {dump} {toggles}";
  for (const auto& [content, part] :
       {std::pair{"{\"w\":NaN}", "holds NaN in 'w'"}, {"hello", "no usable dump"}}) {
    with.toggles = {"a=A|", "content='x'|" + quote_word(content)};
    with.command = "sh -c 'echo \"$1\" > $2' sh {content} {dump} {toggles}";
    EXPECT_USAGE_ERROR(fingerprints(CommandTarget(with), {{0, 0}}, options()), part);
    std::filesystem::remove(folder_ / "journal");
  }
}

TEST_F(CommandRunnerTest, TimeoutIsAHang) {
  CommandSpec with = spec("test \"$1\" != A || sleep 60");
  with.timeout = milliseconds(3000);
  EXPECT_EQ(fingerprints(CommandTarget(with), {{0, 1}, {1, 0}}, options()),
            (Texts{"HANG:deadline", "pass"}));
}

TEST_F(CommandRunnerTest, CancelledBatchGivesWhatItHasUpToTheFirstMissing) {
  StopSignal stop;
  const CommandTarget target(spec("test \"$1\" != A || sleep 60"));
  CommandRunnerOptions with = options();
  with.cancel_fd = stop.fd();
  int count = 0;
  with.on_trial = [&](const FinishedTrial&) {
    if (++count == 2) ::raise(SIGTERM);  // after the reference and {1, 0}
  };
  EXPECT_EQ(fingerprints(target, {{1, 0}, {0, 0}, {1, 1}}, with), Texts{"pass"});
  EXPECT_EQ(read_journal(folder_ / "journal").records.size(), 2u);
}

TEST_F(CommandRunnerTest, RunsOneTrialOutsideAJournal) {
  const CommandTarget target(spec("test \"$*\" != 'A B'"));
  EXPECT_EQ(run_trial(target, {0, 0}, options()).trial.fingerprint, "EXIT:1");
  EXPECT_EQ(run_trial(target, {0, 1}, options()).trial.status, Trial::Status::kPass);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "journal"));
}

TEST_F(CommandRunnerTest, RefusesOptionsThatCannotWork) {
  const CommandTarget target(spec("true"));
  CommandRunnerOptions with = options();
  with.jobs = 0;
  EXPECT_USAGE_ERROR(fingerprints(target, kAll, with), "--jobs");
  CommandSpec dumps = spec("true");
  dumps.command += " {dump}";
  with = options();
  with.work_directory = "/no/such/folder";
  std::filesystem::remove(folder_ / "journal");
  EXPECT_USAGE_ERROR(fingerprints(CommandTarget(dumps), kAll, with), "no folder");
}

}  // namespace
}  // namespace culprit
