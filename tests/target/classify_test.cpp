#include "target/classify.hpp"

#include "target/outcome_line.hpp"
#include "target_test_support.hpp"

namespace culprit {
namespace {

constexpr auto kPass = Trial::Status::kPass;
constexpr auto kFail = Trial::Status::kFail;
constexpr auto kUnresolved = Trial::Status::kUnresolved;

JudgedRun run(const std::string& line, std::vector<OutputPattern> patterns = {},
              bool has_error_lines = true) {
  return classify(run_process(shell(line)), {patterns, has_error_lines, {}});
}

TEST(ClassifyTest, ExitStatus) {
  EXPECT_EQ(run("exit 0").trial.status, kPass);
  EXPECT_EQ(run("exit 3").trial.fingerprint, "EXIT:3");
  for (int status : {77, 125, 126, 127})
    EXPECT_EQ(run("exit " + std::to_string(status)).trial.status, kUnresolved);
  EXPECT_EQ(run("no-such-command-here").trial.status, kUnresolved);  // the shell's 127
  EXPECT_EQ(run("exit 139").trial.fingerprint, "EXIT:139");
}

TEST(ClassifyTest, ErrorLineIsMaskedAndCanBeLeftOut) {
  const std::string line = "echo \"ValueError: pid $$ at 0x12ab\" >&2; exit 1";
  EXPECT_EQ(run(line).trial.fingerprint, "EXIT:1:ValueError: pid # at #");
  EXPECT_EQ(run(line, {}, false).trial.fingerprint, "EXIT:1");
  EXPECT_NE(run(line).note.find("exit status 1: ValueError: pid "), std::string::npos);
}

TEST(ClassifyTest, SignalAndDeadline) {
  EXPECT_EQ(run("kill -ABRT $$").trial.fingerprint, "SIGNAL:ABRT");
  ProcessRequest request = shell("sleep 60");
  request.deadline = milliseconds(100);
  EXPECT_EQ(classify(run_process(request), {}).trial.fingerprint, "HANG:deadline");
  request.deadline.reset();
  request.stall_deadline = milliseconds(100);
  EXPECT_EQ(classify(run_process(request), {}).trial.fingerprint, "HANG:stalled");
}

TEST(ClassifyTest, HarnessTroubleIsUnresolved) {
  ProcessRequest request;
  request.argv = {"/no/such/program"};
  const JudgedRun judged = classify(run_process(request), {});
  EXPECT_EQ(judged.trial.status, kUnresolved);
  EXPECT_NE(judged.note.find("cannot start"), std::string::npos);
}

TEST(ClassifyTest, PatternDecidesBeforeTheExitStatus) {
  const std::vector<OutputPattern> patterns{OutputPattern("NAN=loss: *(nan|inf)"),
                                            OutputPattern("OOM=out of memory$")};
  EXPECT_EQ(run("echo 'loss:  nan'", patterns).trial.fingerprint, "MATCH:NAN");
  EXPECT_EQ(run("echo 'out of memory' >&2; exit 1", patterns).trial.fingerprint, "MATCH:OOM");
  EXPECT_EQ(run("echo 'out of memory'; echo 'loss: inf'; kill -9 $$", patterns).trial.fingerprint,
            "MATCH:NAN");
  EXPECT_EQ(run("echo 'out of memory?'; echo 'loss: 1'", patterns).trial.status, kPass);
  EXPECT_EQ(run("printf 'a\\nb'", {OutputPattern("X=a.b")}).trial.status,
            kPass);  // within one line
}

TEST(ClassifyTest, PatternSurvivesHugeLinesAndNulBytes) {
  const OutputPattern pattern("X=(a|b)*c");
  EXPECT_FALSE(pattern.matches(std::string(5'000'000, 'a')));
  EXPECT_TRUE(OutputPattern("X=x y$").matches(std::string("x\0y\r\n", 5)));
}

TEST(ClassifyTest, OutcomeLineOfAScenarioIsBelieved) {
  const std::string error =
      R"({"schema":1,"outcome":"ERROR","kind":"LEAF_INPLACE","first":{"phase":"recompute"},"message":"Leaf Var"})";
  EXPECT_EQ(run("echo text; echo '" + error + "'; exit 10").trial.fingerprint,
            "ERROR:LEAF_INPLACE@recompute");
  EXPECT_NE(run("echo '" + error + "'; exit 10").note.find("Leaf Var"), std::string::npos);
  EXPECT_EQ(
      run(R"(echo '{"schema":1,"outcome":"WRONG_GRAD","kind":"","fingerprint":"WRONG_GRAD@backward"}'; exit 11)")
          .trial.fingerprint,
      "WRONG_GRAD@backward");
  const std::string pass = R"({"schema":1,"outcome":"PASS","kind":""})";
  EXPECT_EQ(run("echo '" + pass + "'").trial.status, kPass);
  EXPECT_EQ(run("echo '" + pass + "'; kill -SEGV $$").trial.fingerprint, "SIGNAL:SEGV");
  EXPECT_EQ(run("echo '" + pass + "'; exit 4").trial.fingerprint, "EXIT:4");
}

TEST(OutcomeLineTest, TakesTheLastAndIgnoresLookalikes) {
  EXPECT_FALSE(find_outcome_line(""));
  EXPECT_FALSE(find_outcome_line("{\"outcome\":\"ERROR\"}\n{\"outcome\"\n[1]\n\n"));
  const auto line = find_outcome_line(
      "{\"schema\":1,\"outcome\":\"ERROR\",\"kind\":\"A\"}\n{\"schema\":1,\"outcome\":\"HANG\","
      "\"kind\":\"B\"}\nbye");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->fingerprint, "HANG:B");
}

TEST(JudgeDumpTest, ComparesOrSaysWhyNot) {
  TemporaryFolder folder;
  const Dump reference{{"w", {2}, {1, 2}}};
  const auto judged = [&](const std::string& name) {
    JudgedRun result;
    result.trial.status = kPass;
    judge_dump(folder / name, reference, {}, result);
    return result;
  };
  write_text(folder / "same", R"({"w":[1,2],"extra":3})");
  write_text(folder / "off", R"({"w":[1,2.1]})");
  write_text(folder / "broken", R"({"w":[1,2)");
  EXPECT_EQ(judged("same").trial.status, kPass);
  EXPECT_EQ(judged("off").trial.fingerprint, "DUMP:differs:w");
  EXPECT_NE(judged("off").note.find("2.1"), std::string::npos);
  EXPECT_EQ(judged("none").trial.fingerprint, "DUMP:none");
  EXPECT_EQ(judged("none").trial.status, kFail);
  EXPECT_EQ(judged("broken").trial.status, kUnresolved);
}

TEST(ClassifyTest, StatusesThatSayNothingCanBeNamed) {
  const std::vector<int> statuses{2, 3};
  EXPECT_EQ(classify(run_process(shell("exit 3")), {{}, true, statuses}).trial.status,
            Trial::Status::kUnresolved);
  EXPECT_EQ(classify(run_process(shell("exit 4")), {{}, true, statuses}).trial.fingerprint,
            "EXIT:4");
}

TEST(ClassifyTest, TakesTheCostOfAnOutcomeLine) {
  const JudgedRun judged =
      classify(run_process(shell("echo '{\"schema\":1,\"outcome\":\"PASS\",\"kind\":\"\",\"cost\":"
                                 "{\"copied_bytes\":96,\"share\":0.5}}'")),
               {});
  EXPECT_EQ(judged.trial.status, Trial::Status::kPass);
  EXPECT_EQ(judged.cost, (TrialCost{{"copied_bytes", 96}}));
}

TEST(ClassifyTest, KnowsWhichFailuresRaiseNothing) {
  EXPECT_TRUE(is_silent("DUMP:differs:w"));
  EXPECT_TRUE(is_silent("WRONG_GRAD@backward"));
  EXPECT_TRUE(is_silent("MISSING_GRAD"));
  EXPECT_FALSE(is_silent("DUMP:none"));
  EXPECT_FALSE(is_silent("ERROR:LEAF_INPLACE@forward"));
  EXPECT_FALSE(is_silent("EXIT:1:WRONG_GRAD"));
}

}  // namespace
}  // namespace culprit
