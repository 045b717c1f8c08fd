// The files of an isolation, from a record made up here: what a reader must find, what must not get
// through, and that nothing that comes and goes is said to pass.
#include <nlohmann/json.hpp>

#include "gtest/gtest.h"
#include "process/process_test_support.hpp"
#include "report/isolation_console.hpp"
#include "report/isolation_json.hpp"
#include "report/isolation_markdown.hpp"
#include "report/isolation_wording.hpp"
#include "scenario/scenario.hpp"

namespace culprit {
namespace {

constexpr const char* kHostile = "<img src=x onerror=alert(1)>\x1b[2J|@all";

CommandSpec spec() {
  CommandSpec result;
  result.command = "true {toggles} {n}";
  result.toggles = {"skip=--skip|", std::string("note=") + "'<b>@all'|plain", "acc=4|1"};
  result.sizes = {parse_size("n=8:1")};
  result.fixes = {parse_fix("view=--view"), parse_fix("none=--x")};
  return result;
}

Observation observed(Assignment assignment, std::size_t runs, std::size_t failures) {
  Observation seen;
  seen.assignment = std::move(assignment);
  seen.runs = runs;
  seen.failures = failures;
  seen.passes = runs - failures;
  return seen;
}

class IsolationReportTest : public testing::Test {
 protected:
  IsolationReportTest()
      : target_(spec()),
        journal_(Journal::create(folder_ / "journal.jsonl",
                                 {target_.trial_space(), target_.description()}, "here")) {
    journal_.finish(journal_.start(target_.reference()), target_.reference(),
                    {Trial::Status::kPass, ""}, 0.1, "", {{"copied_bytes", 10}});
    const Assignment with_view{1, 1, 1, 7, 0, 1};
    journal_.finish(journal_.start(with_view), with_view, {Trial::Status::kPass, ""}, 0.1, "",
                    {{"copied_bytes", 14}});
    Combination combination;
    combination.settings = {{0, 0}, {2, 1}};  // skip on, acc off
    combination.fingerprint = std::string("EXIT:1:") + kHostile;
    combination.necessity = {{{0, 0}, observed({0, 1, 1}, 3, 3), observed({1, 1, 1}, 1, 0), true},
                             {{2, 1}, observed({0, 1, 1}, 3, 3), observed({0, 1, 0}, 1, 0), true}};
    combination.support = {observed({0, 0, 1}, 1, 1)};
    combination.rate = {4, 4, {0.4, 1.0}};
    combination.proven = true;
    result_.search.combinations = {combination};
    result_.search.exhaustive = true;
    result_.search.distinct_assignments = 8;
    result_.search.coverage = {{1, 6, 6, 0, 0, 0}, {2, 12, 11, 0, 1, 0}};
    CombinationDetail detail;
    detail.plain = {0, 1, 1, 7, 1, 1};
    detail.smallest = {0, 1, 1, 2, 1, 1};
    detail.note = kHostile;
    SizeFinding sizes;
    sizes.sizes = {0};
    sizes.result.sizes = {3};
    sizes.result.is_smallest = {true};
    sizes.result.complete = true;
    detail.sizes = sizes;
    result_.details = {detail};
    FixFinding fixes;
    fixes.cells = {{detail.plain, {0}}, {target_.reference(), {}}};
    FixAttribution view;
    view.fixes = {0};
    view.verdict = FixVerdict::kResolves;
    view.effects = {{0, ObservedEffect::kResolves, {}}, {1, ObservedEffect::kStaysPassing, {}}};
    FixAttribution none;
    none.fixes = {1};
    none.verdict = FixVerdict::kBreaksSomething;
    none.effects = {{0, ObservedEffect::kSameFailure, {}},
                    {1, ObservedEffect::kBreaks, {{Trial::Status::kFail, "EXIT:9"}, false, true}}};
    fixes.result.alone = {view, none};
    result_.fixes = fixes;
    result_.trials = 40;
  }

  IsolationRecord record() {
    return {.target = target_,
            .journal = journal_,
            .result = result_,
            .scenario = nullptr,
            .ranks = {},
            .launch = {},
            .stop_signal = "",
            .resumed_trials = 0,
            .command = {"culprit", "isolate", "--command", kHostile},
            .environment = {{"CPU", kHostile}},
            .wall_seconds = 1.5};
  }
  nlohmann::json json() { return nlohmann::json::parse(isolation_json(record(), redactor_)); }
  Redactor redactor_ = Redactor::off();
  std::string console() { return isolation_console(record(), Style(), 120); }

  TemporaryFolder folder_;
  CommandTarget target_;
  Journal journal_;
  CampaignResult result_;
};

TEST_F(IsolationReportTest, JsonHoldsTheContract) {
  const nlohmann::json report = json();
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["trials"], 40);
  const nlohmann::json& found = report["minimal_combinations"].at(0);
  EXPECT_EQ(found["switches"], (nlohmann::json{{"skip", "--skip"}, {"acc", "1"}}));
  EXPECT_EQ(found["fingerprint"], result_.search.combinations[0].fingerprint);
  EXPECT_EQ(found["failure_rate"]["k"], 4);
  EXPECT_EQ(found["failure_rate"]["n"], 4);
  EXPECT_EQ(found["failure_rate"]["interval"], (nlohmann::json{0.4, 1.0}));
  EXPECT_EQ(found["certificate"]["necessity"].size(), 2u);
  EXPECT_EQ(found["certificate"]["necessity"][1]["without"]["switches"]["acc"], "4");
  EXPECT_EQ(found["certificate"]["support"][0]["switches"]["note"], "'<b>@all'");
  EXPECT_EQ(found["sizes"]["sizes"][0]["found"], 3);
  EXPECT_EQ(found["repeat"], "true --skip plain 1 3");
  EXPECT_EQ(report["matrix"].size(), 2u);
  EXPECT_EQ(report["fixes"]["alone"][0]["effects"][1]["extra_cost"]["copied_bytes"], 4);
}

TEST_F(IsolationReportTest, ConsoleSaysWhatMattersAndNothingLive) {
  const std::string text = console();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  for (const char* part :
       {"FAILS    skip=--skip, while acc is off\n", "EXIT:1:<img",
        "proven minimal: without any one "
        "of the 2 settings it is gone",
        "smallest: n 3 (of 8)", "repeat: true --skip plain 1 3",
        "view  resolves (1 of 1 failing cells); costs +4 copied bytes",
        "none  breaks something: all off gives EXIT:9", "2-way: 91.6 % run, 8.3 % masked"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 120u) << text.substr(begin, end - begin);
}

TEST_F(IsolationReportTest, MarkdownIsInertAndBounded) {
  std::string text = isolation_markdown(record(), redactor_);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::string outside;  // of code
  for (bool code = false;;) {
    const std::size_t fence = text.find("```");
    if (!code) outside += text.substr(0, fence);
    if (fence == std::string::npos) break;
    text.erase(0, fence + 3);
    code = !code;
  }
  for (const char* live : {"<img", "<b>", "|@all", " @all"})
    EXPECT_EQ(outside.find(live), std::string::npos) << live;
  EXPECT_NE(outside.find("not seen"), 0u);

  // Very many combinations, long texts: the verdict stays, details go, and that is said.
  const Combination one = result_.search.combinations[0];
  const CombinationDetail detail = result_.details[0];
  for (int i = 0; i < 60; ++i) {
    result_.search.combinations.push_back(one);
    result_.details.push_back(detail);
    result_.details.back().note = std::string(5000, '|');
  }
  const std::string long_text = isolation_markdown(record(), redactor_);
  EXPECT_LT(long_text.size(), kMostMarkdownBytes);
  EXPECT_NE(long_text.find("did not fit"), std::string::npos);
  EXPECT_NE(long_text.find("**FAILS**"), std::string::npos);
}

TEST_F(IsolationReportTest, PrivateThingsAreMaskedWhereverTheyCome) {
  redactor_ = Redactor({.home = "/home/ada", .user = "ada", .host = "ada_gpu_17"});
  Combination& combination = result_.search.combinations[0];
  combination.necessity[0].with.different = 1;
  combination.necessity[0].with.other_fingerprint = "EXIT:1:no /home/ada/x | <img src=x>";
  result_.details[0].note = "no file /home/ada/secret/model.py on ada_gpu_17";
  IsolationRecord with = record();
  with.command = {"culprit", "--command", "/home/ada/train.sh --token abcdef0123456789abcdef"};
  with.launch.file = "run.sh";
  with.launch.unknown = {"HOST=ada_gpu_17 (line 3)"};
  for (const std::string& text :
       {isolation_markdown(with, redactor_), isolation_json(with, redactor_)}) {
    for (const char* name : {"/home/ada", "ada_gpu_17", "ada\\_gpu", "abcdef0123456789"})
      EXPECT_EQ(text.find(name), std::string::npos) << name << " in\n" << text;
    EXPECT_NE(text.find("~/train.sh"), std::string::npos) << text;
  }
  EXPECT_EQ(isolation_markdown(with, redactor_).find("<img"), std::string::npos);
  EXPECT_NE(redactor_.summary(), "");
}

TEST_F(IsolationReportTest, WhatComesAndGoesIsNeverSaidToPass) {
  Combination& combination = result_.search.combinations[0];
  combination.flaky = true;
  combination.rate = {6, 20, {0.12, 0.54}};
  combination.necessity[0].without = observed({1, 1, 1}, 23, 0);
  combination.necessity[1].without = observed({0, 1, 0}, 1, 0);
  result_.search.flaky = true;
  result_.fixes->repeats = 14;
  result_.fixes->result.alone[0].verdict = FixVerdict::kResolves;
  const std::string text = console() + isolation_markdown(record(), redactor_) + isolation_json(record(), redactor_);
  EXPECT_EQ(text.find("passes\""), text.find("passes\":"));  // only the name of a count
  std::string words = console() + isolation_markdown(record(), redactor_);
  EXPECT_EQ(words.find("passes"), std::string::npos) << words;
  for (const char* part : {"fails in 6 of 20 runs, 30 % (95 %: 12 to 54 %)", "not seen in 23 runs",
                           "not seen in 1 run", "not seen again in 14 runs each"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\nin\n" << words;
}

TEST_F(IsolationReportTest, AStopIsSaidFirst) {
  result_.stopped = CampaignStop::kBudget;
  result_.search.combinations[0].proven = false;
  result_.search.combinations[0].incomplete = "support is incomplete";
  result_.search.unreduced = {{"SIGNAL:SEGV", observed({0, 0, 0}, 1, 1)}};
  const std::string text = console();
  EXPECT_NE(text.find("INCOMPLETE: stopped by the budget after 40 trials"), std::string::npos);
  EXPECT_NE(text.find("not proven minimal: support is incomplete"), std::string::npos);
  EXPECT_NE(text.find("SIGNAL:SEGV: seen in 1 of 1 run of skip=--skip"), std::string::npos);
  EXPECT_FALSE(json()["complete"].get<bool>());
  EXPECT_FALSE(json()["minimal_combinations"][0]["proven"].get<bool>());
  EXPECT_EQ(json()["unreduced"][0]["fingerprint"], "SIGNAL:SEGV");
}

TEST_F(IsolationReportTest, NothingFoundIsNoMoreThanWhatWasRun) {
  result_.search.combinations.clear();
  result_.details.clear();
  result_.fixes.reset();
  EXPECT_NE(console().find("PASS: no combination of these switches fails"), std::string::npos);
  result_.search.exhaustive = false;
  EXPECT_NE(console().find("PASS: no run failed; what the runs cover"), std::string::npos);
  result_.stopped = CampaignStop::kBudget;
  EXPECT_EQ(console().find("PASS"), std::string::npos);
  result_.stopped = CampaignStop::kComplete;
  result_.search.unreproduced = {{"EXIT:1", observed({0, 0, 0}, 9, 1)}};
  EXPECT_EQ(console().find("PASS"), std::string::npos);
  EXPECT_NE(console().find("EXIT:1: seen in 1 of 9 runs"), std::string::npos);
}

TEST_F(IsolationReportTest, AScenarioSaysHowManyRanksItNeeds) {
  IsolationRecord with = record();
  with.scenario = &scenario_named("skip_identity_leaf");
  with.ranks = {2};
  EXPECT_EQ(needs_in_words(with, 0), "needs 2 ranks, no GPU");
  EXPECT_EQ(needs_in_words(record(), 0), "");
}

}  // namespace
}  // namespace culprit
