// The files of a run, from a record made up here: what a reader must find, what must not get
// through.
#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "report/console_report.hpp"
#include "report/json_report.hpp"
#include "report/markdown_report.hpp"
#include "scenario/scenario.hpp"
#include "terminal/style.hpp"

namespace culprit {
namespace {

constexpr const char* kHostile = "<img src=x onerror=alert(1)>\x1b[2J|@all";

class RunReportTest : public testing::Test {
 protected:
  RunReportTest() {
    record_.scenario = &scenario_named("skip_identity_leaf");
    record_.command = {"culprit", "run", "--from", kHostile};
    record_.environment = {{"CPU", kHostile}};
    record_.bin_folder = "build/bin";
    record_.num_trials = 48;
    JobResult job;
    job.matrix = make_matrix(*record_.scenario, Cell{}, true);
    job.outcomes.resize(job.matrix.choices.size());
    for (std::size_t i = 0; i < job.outcomes.size(); ++i)
      if (label_of(job.matrix, job.matrix.choices[i]) == "skip_c_identity + residual") {
        Outcome& outcome = job.outcomes[i];
        outcome.outcome = OutcomeClass::kError;
        outcome.kind = "LEAF_INPLACE";
        outcome.where = "stage0.tp0:forward 0";
        outcome.message = kHostile;
        outcome.first =
            Place{.stage = 0, .ranks = "0", .micro_batch = 0, .phase = "forward", .tensor = ""};
        MinimalFinding& finding = job.minimal.emplace_back();
        finding.index = i;
        finding.one_micro_batch = outcome;
        finding.two_linears = outcome;
        for (auto& fixes : finding.fixes) {
          fixes.resize(candidate_fixes().size());
          fixes[0].applies = true;
          fixes[0].effect = FixEffect::kClears;
        }
      }
    record_.jobs.push_back(std::move(job));
  }
  void make_from_script() {
    record_.launch.file = kHostile;
    record_.launch.dialect = "paddle";
    record_.launch.modelled = {kHostile};
    record_.launch.not_modelled = {kHostile};
    record_.launch.unknown = {kHostile};
  }
  RunRecord record_;
};

TEST_F(RunReportTest, MarkdownTellsTheVerdictInItsFirstLines) {
  const std::string text = markdown_report(record_);
  const auto verdict = text.find(
      "**FAILS** `skip_c_identity + residual`: LEAF_INPLACE in the forward of micro-batch 0");
  ASSERT_NE(verdict, std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(verdict), '\n'), 5);
  EXPECT_LT(text.size(), 65536U);
}
TEST_F(RunReportTest, TextFromOutsideIsInertEverywhere) {
  make_from_script();
  const std::string markdown = markdown_report(record_);
  // The command stands in a code block, where markup is text.
  const std::string before_command = markdown.substr(0, markdown.find("### Command"));
  EXPECT_EQ(before_command.find("<img"), std::string::npos);
  EXPECT_EQ(before_command.find("|@all"), std::string::npos);
  for (const std::string& text : {markdown, json_report(record_), junit_report(record_)})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(junit_report(record_).find("<img"), std::string::npos);
}
TEST_F(RunReportTest, JsonHoldsCellsAndMinimalCombinations) {
  const auto report = nlohmann::json::parse(json_report(record_));
  EXPECT_EQ(report.at("jobs").at(0).at("cells").size(), 48U);
  const auto& minimal = report.at("minimal_combinations");
  ASSERT_EQ(minimal.size(), 1U);
  EXPECT_EQ(minimal[0].at("switches"), (nlohmann::json{{"identity", "skip"}, {"residual", "1"}}));
  EXPECT_EQ(minimal[0].at("fingerprint"),
            fingerprint(record_.jobs[0].outcomes[record_.jobs[0].minimal[0].index]));
  EXPECT_EQ(minimal[0].at("fixes").at(0).at("one_linear").at("effect"), "clears");
  EXPECT_FALSE(minimal[0].at("silent"));
}
TEST_F(RunReportTest, TimeAndMachineStandInOnePlaceOnly) {
  RunRecord other = record_;
  other.wall_seconds = 9.0;
  other.environment = {{"CPU", "another"}};
  auto one = nlohmann::json::parse(json_report(record_));
  auto two = nlohmann::json::parse(json_report(other));
  EXPECT_NE(one, two);
  one.erase("run");
  two.erase("run");
  EXPECT_EQ(one, two);
  EXPECT_EQ(junit_report(record_), junit_report(other));
}
TEST_F(RunReportTest, JunitFailsOnlyWhereSomethingIsNotAsDeclared) {
  EXPECT_NE(junit_report(record_).find("failures=\"0\""), std::string::npos);
  record_.jobs[0].differences = {"<odd>"};
  const std::string text = junit_report(record_);
  EXPECT_NE(text.find("failures=\"1\""), std::string::npos);
  EXPECT_NE(text.find("&lt;odd&gt;"), std::string::npos);
}
TEST_F(RunReportTest, ConsoleNamesCombinationFixAndCost) {
  const std::string text = console_report(record_, Style(), 120);
  EXPECT_NE(text.find("FAILS    skip_c_identity + residual"), std::string::npos) << text;
  EXPECT_NE(text.find("view"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace culprit
