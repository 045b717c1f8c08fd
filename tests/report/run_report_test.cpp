// The files of a run, from a record made up here: what a reader must find, what must not get through.
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "gtest/gtest.h"
#include "report/console_report.hpp"
#include "report/ctrf_report.hpp"
#include "report/html_report.hpp"
#include "report/issue_form.hpp"
#include "report/json_report.hpp"
#include "report/junit_report.hpp"
#include "report/made_up_record.hpp"
#include "report/markdown_report.hpp"
#include "report/svg_report.hpp"
#include "report/wording.hpp"
#include "terminal/style.hpp"

namespace culprit {
namespace {

using test::kHostile;

class RunReportTest : public testing::Test {
 protected:
  void make_from_script() {
    record_.launch.file = kHostile;
    record_.launch.dialect = "paddle";
    record_.launch.modelled = {kHostile};
    record_.launch.not_modelled = {kHostile};
    record_.launch.unknown = {kHostile};
  }
  RunRecord record_ = test::made_up_record();
};

TEST_F(RunReportTest, MarkdownTellsTheVerdictInItsFirstLines) {
  const std::string text = markdown_report(record_);
  const auto verdict = text.find("**FAILS** `skip_c_identity + residual`: LEAF\\_INPLACE in the forward of micro-batch 0");
  ASSERT_NE(verdict, std::string::npos) << text;
  EXPECT_LE(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(verdict), '\n'), 5);
  EXPECT_LT(text.size(), 65536U);
}
TEST_F(RunReportTest, EveryReportSaysWhichRuleOfPyTorchMakesTheDifference) {
  const std::string words = "fails under Paddle's rule, passes under PyTorch's: a new handle for an input returned as is";
  EXPECT_EQ(markdown_report(record_).find("PyTorch's"), std::string::npos);
  auto& other = record_.jobs[0].minimal[0].other_framework;
  other = OtherFramework{.outcome = Outcome{}, .num_tried = 12, .rules = {0}};
  for (const std::string& text : {markdown_report(record_), console_report(record_, Style(), 160)})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(html_report(record_).find("a new handle for an input returned as is"), std::string::npos);
  const auto entry = nlohmann::json::parse(json_report(record_))["minimal_combinations"][0]["other_framework"];
  EXPECT_EQ(entry["framework"], "torch@2.15.0");
  EXPECT_EQ(entry["outcome"], "PASS");
  EXPECT_EQ(entry["rule"], "new_handle");
  EXPECT_EQ(entry["rules"], nlohmann::json::array({"new_handle"}));
  EXPECT_EQ(entry["rules_tried"], 12);
}
TEST_F(RunReportTest, WhatIsSaidOfPyTorchsRulesIsWhatWasTried) {
  JobResult& job = record_.jobs[0];
  auto& other = job.minimal[0].other_framework;
  const auto line = [&]() -> std::string {
    for (MinimalFinding& finding : job.minimal) finding.other_framework = other;
    return other_framework_in_words(job).at(0);
  };
  const std::string all = "fails under Paddle's rules, passes under PyTorch's: ";
  other = OtherFramework{.outcome = Outcome{}, .num_tried = 12, .rules = {}};
  EXPECT_EQ(line(), all + "none of the 12 single rules that were tried does it");
  other->rules = {0, 1};
  EXPECT_EQ(line(), all + "any one of: " + named_rules()[0].meaning + "; " + named_rules()[1].meaning);
  job.matrix.base.framework = "paddle@2.6.2";
  other->rules = {0};
  EXPECT_EQ(line(), "fails under paddle@2.6.2's rule, passes under PyTorch's: a new handle for an input returned as is");
  job.matrix.base.framework = "paddle@3.3.1+hooks_nest";
  other = OtherFramework{.outcome = Outcome{}, .num_tried = 0, .rules = {}};
  EXPECT_EQ(line(), "fails under paddle@3.3.1+hooks_nest's rules, passes under PyTorch's: single rules were not tried");
  other->outcome = job.outcomes[job.minimal[0].index];
  EXPECT_EQ(line(), "fails under PyTorch's rules too: " + outcome_in_words(other->outcome));
  other->outcome.kind = "VIEW_INPLACE";
  EXPECT_EQ(line(), "fails otherwise under PyTorch's rules: " + outcome_in_words(other->outcome));
}
TEST_F(RunReportTest, MarkdownStaysBelowTheTrackersLimitAndSaysWhatItLeftOut) {
  record_.launch.file = "launch.sh";
  for (int i = 0; i < 3000; ++i) record_.launch.unknown.push_back("--flag-number " + std::to_string(i) + " <details>");
  JobResult& job = record_.jobs[0];
  const std::string whole = markdown_report(record_);
  EXPECT_LT(whole.size(), kMarkdownLimit);
  EXPECT_GT(whole.size(), kMarkdownLimit / 2);
  EXPECT_NE(whole.find("lines left out"), std::string::npos);
  EXPECT_NE(whole.find("Upstream:"), std::string::npos);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t number = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
    return number;
  };
  EXPECT_EQ(count(whole, "<details>"), count(whole, "</details>"));
  // Even a list of findings that is too long by itself is cut between lines.
  const MinimalFinding finding = job.minimal[0];
  for (int i = 0; i < 2000; ++i) job.minimal.push_back(finding);
  const std::string many = markdown_report(record_);
  EXPECT_LT(many.size(), kMarkdownLimit);
  EXPECT_NE(many.find("cut here"), std::string::npos);
}
TEST_F(RunReportTest, OneLineJoinsSwitchesAndFirstBadValue) {
  Outcome wrong;
  wrong.outcome = OutcomeClass::kWrongGrad;
  wrong.worst = 2.27;
  wrong.worst_parameter = "embed@stage0.tp0";
  wrong.first = Place{.stage = 0, .ranks = "1", .micro_batch = 0, .phase = "backward", .tensor = "row0",
                      .value = BadValue{.row = 1, .col = 2, .got = 0.5, .expected = 0.25, .deviation = 1.0}};
  record_.jobs[0].outcomes[record_.jobs[0].minimal[0].index] = wrong;
  const std::string text = markdown_report(record_);
  EXPECT_NE(text.find("with skip\\_c\\_identity \\+ residual, stage 0, rank 1, micro-batch 0, backward: gradient of embed is off by 2.27 x its "
                      "largest reference entry; first bad value: gradient of row0, entry \\[1, 2\\] of rank 1's slice, is 0.5, reference 0.25"),
            std::string::npos) << text;
  EXPECT_NE(text.find("noise floor 2e-07 \\(largest deviation among the 47 cells that pass\\)"), std::string::npos) << text;
}
TEST_F(RunReportTest, ProgramsAreQuotedAndWhatWasSeenOfThemStandsWithTheMachine) {
  const std::string text = markdown_report(record_);
  EXPECT_NE(text.find("```python\nimport paddle\n```"), std::string::npos) << text;
  EXPECT_GT(text.find("repros/skip_c_identity+residual/repro.cpp`: shown: exit status 10"),
            text.find("as built and run here"));
  EXPECT_NE(text.find("`repro_test.cpp`: not written: "), std::string::npos) << text;
  // A program that closes its block of code, and one of many lines on the page.
  record_.reproductions[0].files[0].text = "one\n```\n<img src=x>\n\x1b[2J\n";
  EXPECT_NE(markdown_report(record_).find("````python\none\n```\n<img src=x>\n\\x1B[2J\n````\n"),
            std::string::npos)
      << markdown_report(record_);
  EXPECT_NE(html_report(record_).find("<pre>one\n```\n&lt;img src=x&gt;\n\\x1B[2J\n</pre>"),
            std::string::npos);
  const std::vector<std::string> lines = reproductions_in_words(record_);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "repro.cpp: shown for 1 of 1");
  const auto run = nlohmann::json::parse(json_report(record_)).at("run");
  EXPECT_EQ(run.at("reproductions")[0].at("files")[0].at("status"), "not run here");
  // The rest is the same on a machine that saw something else.
  RunRecord other = record_;
  other.reproductions[0].files[1].status = Reproduction::Status::kNotShown;
  auto here = nlohmann::json::parse(json_report(record_)),
       there = nlohmann::json::parse(json_report(other));
  EXPECT_NE(here, there);
  here.erase("run");
  there.erase("run");
  EXPECT_EQ(here, there);
}
TEST_F(RunReportTest, TextFromOutsideIsInertEverywhere) {
  make_from_script();
  record_.jobs[0].title = kHostile;
  record_.jobs[0].differences = {kHostile};
  const std::string markdown = markdown_report(record_);
  // The command stands in a code block, where markup is text.
  const std::string before_command = markdown.substr(0, markdown.find("### Command"));
  EXPECT_EQ(before_command.find("<img"), std::string::npos);
  EXPECT_EQ(before_command.find("|@all"), std::string::npos);
  const std::string form = issue_form(record_, "deepspeed");
  for (const std::string& text : {markdown, json_report(record_), junit_report(record_), html_report(record_), svg_report(record_), ctrf_report(record_), form})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (const std::string& text : {junit_report(record_), html_report(record_), svg_report(record_), form})
    EXPECT_EQ(text.find("<img"), std::string::npos);
}
TEST_F(RunReportTest, JsonHoldsCellsAndMinimalCombinations) {
  const auto report = nlohmann::json::parse(json_report(record_));
  EXPECT_EQ(report.at("jobs").at(0).at("cells").size(), 48U);
  const auto& minimal = report.at("minimal_combinations");
  ASSERT_EQ(minimal.size(), 1U);
  EXPECT_EQ(minimal[0].at("switches"), (nlohmann::json{{"identity", "skip"}, {"residual", "1"}}));
  EXPECT_EQ(minimal[0].at("fingerprint"), fingerprint(record_.jobs[0].outcomes[record_.jobs[0].minimal[0].index]));
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
  other.started_ms = 1764500000000;
  // By lines: of each file only those of that one place differ.
  const auto differing = [](const std::string& left, const std::string& right) {
    std::istringstream a(left), b(right);
    std::vector<std::string> lines;
    for (std::string x, y; std::getline(a, x) && std::getline(b, y);)
      if (x != y) lines.push_back(x);
    return lines;
  };
  EXPECT_EQ(svg_report(record_), svg_report(other));
  EXPECT_EQ(differing(junit_report(record_), junit_report(other)).size(), 1U);
  EXPECT_EQ(differing(ctrf_report(record_), ctrf_report(other)).size(), 2U);
  EXPECT_EQ(differing(html_report(record_), html_report(other)).size(), 2U);
  EXPECT_EQ(differing(markdown_report(record_), markdown_report(other)).size(), 2U);
}
TEST_F(RunReportTest, JunitFailsOnlyWhereSomethingIsNotAsDeclared) {
  EXPECT_NE(junit_report(record_).find("failures=\"0\""), std::string::npos);
  record_.jobs[0].differences = {"<odd>"};
  const std::string text = junit_report(record_);
  EXPECT_NE(text.find("failures=\"1\""), std::string::npos);
  EXPECT_NE(text.find("&lt;odd&gt;"), std::string::npos);
}
TEST_F(RunReportTest, PageAndPictureShowEveryCellAndTheMinimalOne) {
  const std::string page = html_report(record_);
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t number = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++number;
    return number;
  };
  EXPECT_EQ(count(page, "data-cell="), 48U);
  EXPECT_EQ(count(page, "class=\"c fails minimal\""), 1U);
  EXPECT_EQ(count(page, "http://") - count(page, "http://www.w3.org/2000/svg"), 0U);
  EXPECT_EQ(count(page, "{{"), 0U);
  EXPECT_EQ(count(svg_report(record_), "<g><title>"), 48U);
}
TEST_F(RunReportTest, FormsNameTheirFieldsAndWhatIsMissingAndKeepAddressesShort) {
  const std::pair<const char*, const char*> fields[] = {{"paddle", "## 其他补充信息 Additional Supplementary Information"},
                                                        {"megatron", "## Steps/Code to reproduce bug"},
                                                        {"pytorch", "## Versions"},
                                                        {"deepspeed", "## ds_report output"}};
  for (const auto& [name, field] : fields) {
    const std::string form = issue_form(record_, name);
    EXPECT_NE(form.find(field), std::string::npos) << name;
    EXPECT_NE(form.find("- [x] a minimal failing combination"), std::string::npos) << name;
    EXPECT_NE(form.find("- [ ] "), std::string::npos) << name;
    const auto at = form.find("https://github.com/");
    EXPECT_LE(form.find(')', at) - at, 8000U) << name;
  }
  EXPECT_NE(issue_form(record_, "paddle").find("&code="), std::string::npos);
  EXPECT_THROW(issue_form(record_, "padle"), UsageError);
}
TEST_F(RunReportTest, ConsoleNamesCombinationFixAndCost) {
  const std::string text = console_report(record_, Style(), 120);
  EXPECT_NE(text.find("FAILS    skip_c_identity + residual"), std::string::npos) << text;
  EXPECT_NE(text.find("view"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace culprit
