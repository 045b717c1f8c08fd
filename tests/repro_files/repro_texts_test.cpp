// What the texts hold, and what they don't.
#include <algorithm>

#include "base/error.hpp"
#include "engine/model_program.hpp"
#include "gtest/gtest.h"
#include "repro_files/failing_cells.hpp"

namespace culprit {
namespace {

using test::failing_cells;
using test::FailingCell;
using test::file_of;
using test::kCpp;
using test::kPython;
using test::kTest;
using test::request_of;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class ReproTextsTest : public testing::TestWithParam<FailingCell> {
 protected:
  std::string text(std::size_t which) const { return file_of(GetParam(), which).text; }
};

TEST_P(ReproTextsTest, PythonHasAtMostHundredLines) {
  const std::string python = text(kPython);
  EXPECT_LE(std::count(python.begin(), python.end(), '\n'), 100);
}
TEST_P(ReproTextsTest, EqualRequestsGiveEqualTexts) {
  for (const std::size_t which : {kPython, kCpp, kTest}) EXPECT_EQ(text(which), text(which));
}
TEST_P(ReproTextsTest, OutcomeAndStatusAreTheEngines) {
  const ReproRequest request = request_of(GetParam().scenario, GetParam().settings);
  const ReproFile cpp = file_of(GetParam(), kCpp);
  EXPECT_EQ(cpp.exit_status, row_of(request.outcome.outcome).exit_status);
  EXPECT_TRUE(cpp.shows.starts_with(row_of(request.outcome.outcome).name)) << cpp.shows;
  EXPECT_TRUE(cpp.shows.ends_with(request.outcome.kind)) << cpp.shows;
}
TEST_P(ReproTextsTest, PartsThatTheCellDoesNotNeedAreNotThere) {
  const Settings& settings = GetParam().settings;
  const auto value = [&](const std::string& name) {
    for (const auto& [field, set] : settings)
      if (field == name) return set;
    return std::string();
  };
  for (const std::size_t which : {kPython, kCpp}) {
    const std::string program = text(which);
    // Head comments may speak of anything.
    const std::string code =
        program.substr(program.find(which == kPython ? "\nimport" : "\n#include"));
    if (value("recompute").empty()) {
      EXPECT_FALSE(contains(code, "recompute"));
    }
    if (value("pp") == "1") {
      EXPECT_FALSE(contains(code, "stage"));
      EXPECT_FALSE(contains(code, "PP = "));
      EXPECT_FALSE(contains(code, "Channel"));
    }
    if (value("release").empty()) {
      EXPECT_FALSE(contains(code, "released"));
      EXPECT_FALSE(contains(code, "_clear_dataptr"));
    }
    if (value("fan_out").empty()) {
      EXPECT_FALSE(contains(code, ".1\""));
    }
    EXPECT_FALSE(contains(code, "micro"));  // one suffices
    EXPECT_FALSE(contains(code, "MICRO"));
  }
}
TEST_P(ReproTextsTest, TheRuleIsOneMarkedLine) {
  const ReproFile test = file_of(GetParam(), kTest);
  EXPECT_FALSE(test.rule_line.empty());
  EXPECT_NE(test.rule_line, test.fixed_line);
  EXPECT_EQ(test.text.find(test.rule_line), test.text.rfind(test.rule_line));
  EXPECT_TRUE(contains(test.text, test.rule_line));
  EXPECT_TRUE(contains(test.rule_line, "// RULE"));
}
TEST_P(ReproTextsTest, NothingIsLeftOfTheTextBlocks) {
  for (const std::size_t which : {kPython, kCpp, kTest}) {
    const std::string program = text(which);
    EXPECT_FALSE(contains(program, "\n%"));
    EXPECT_EQ(std::count(program.begin(), program.end(), '$'),
              which == kTest ? 0 : 1);  // "echo $?"
  }
}

INSTANTIATE_TEST_SUITE_P(Minimal, ReproTextsTest, testing::ValuesIn(failing_cells()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(ReproStandInTest, TheFileSaysWhatStandsIn) {
  const std::string python = file_of(failing_cells()[0], kPython).text;
  EXPECT_TRUE(contains(python, "A copy stands in"));
  EXPECT_TRUE(contains(python, "c_identity"));
}
TEST(ReproSizesTest, SmallestSizesKeepTheFingerprint) {
  for (const FailingCell& cell : failing_cells()) {
    const ReproRequest given = request_of(cell.scenario, cell.settings);
    const ReproRequest small = at_smallest_sizes(given);
    EXPECT_EQ(fingerprint(small.outcome), fingerprint(given.outcome)) << cell.name;
    EXPECT_EQ(small.cell.acc, 1) << cell.name;
    EXPECT_EQ(small.cell.pp, given.cell.pp) << cell.name;
  }
}
TEST(ReproSizesTest, GivenSizesAreKeptWhenAsked) {
  const auto files = make_repro_files(
      request_of("skip_identity_leaf", {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}}));
  const std::string& cpp = std::get<ReproFile>(files[kCpp]).text;
  EXPECT_TRUE(contains(cpp, "m < 4"));
  EXPECT_TRUE(contains(cpp, "col1.0"));
}

TEST(ReproHostileTextTest, NamesCannotLeaveTheirPlace) {
  Scenario hostile = scenario_named("skip_identity_leaf");
  hostile.title = "title */ \"\"\" \\\n import os\r\x1b[2J <img onerror=alert(1)>";
  hostile.upstream = "up\\";
  const auto claim =
      request_of("skip_identity_leaf", {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}});
  for (const ReproResult& result :
       make_repro_files({hostile, claim.cell, claim.outcome, "label\nexit()"})) {
    const std::string& text = std::get<ReproFile>(result).text;
    EXPECT_FALSE(contains(text, "\n import os"));
    EXPECT_FALSE(contains(text, "\nexit()"));
    EXPECT_FALSE(contains(text, "\x1b"));
    EXPECT_FALSE(contains(text, "\r"));
    EXPECT_FALSE(contains(text, "\\\n"));  // would continue a C++ comment
  }
}

TEST(ReproRefusalTest, APassingCellIsACallersMistake) {
  EXPECT_THROW(make_repro_files(request_of("skip_identity_leaf", {})), UsageError);
}
TEST(ReproRefusalTest, OutcomesWithoutATextAreNamed) {
  auto request =
      request_of("skip_identity_leaf", {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}});
  request.outcome.outcome = OutcomeClass::kHang;
  for (const ReproResult& result : make_repro_files(request)) {
    ASSERT_TRUE(std::holds_alternative<ReproRefusal>(result));
    EXPECT_TRUE(contains(std::get<ReproRefusal>(result).reason, "HANG"));
  }
}
TEST(ReproRefusalTest, AnOperatorWithoutATextIsNamed) {
  for (const ReproResult& result : make_repro_files(request_of(
           "overlap_unwaited_reduce", scenario_named("overlap_unwaited_reduce").claim))) {
    ASSERT_TRUE(std::holds_alternative<ReproRefusal>(result));
    EXPECT_TRUE(contains(std::get<ReproRefusal>(result).reason, "overlap linear"));
  }
}
TEST(ReproRefusalTest, AnErrorWhoseRuleIsNotWrittenIsNamed) {
  auto request = request_of("skip_identity_leaf", {{"pp", "2"}, {"identity", "skip"}});
  for (const char* kind : {"REPLAY_MISMATCH", "GRAPH_FREED"}) {
    request.outcome.kind = kind;
    const auto files = make_repro_files(request);
    for (const std::size_t which : {kCpp, kTest}) {
      ASSERT_TRUE(std::holds_alternative<ReproRefusal>(files[which])) << kind;
      EXPECT_TRUE(contains(std::get<ReproRefusal>(files[which]).reason, kind));
    }
  }
  request.outcome.kind = "REPLAY_MISMATCH";
  EXPECT_TRUE(std::holds_alternative<ReproRefusal>(make_repro_files(request)[kPython]));
}
TEST(ReproRefusalTest, AScriptThatGetsTooLongIsRefusedWithItsLength) {
  const auto files = make_repro_files(
      request_of("skip_identity_leaf",
                 {{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}, {"blocks", "80"}}));
  ASSERT_TRUE(std::holds_alternative<ReproRefusal>(files[kPython]));
  EXPECT_TRUE(contains(std::get<ReproRefusal>(files[kPython]).reason, "lines"));
}
TEST(ReproRefusalTest, WhereTheScriptGetsTooLongTheSourcesAreStillWritten) {
  const auto& cell = test::cell_without_a_script();
  const auto files = make_repro_files(at_smallest_sizes(request_of(cell.scenario, cell.settings)));
  EXPECT_TRUE(std::holds_alternative<ReproRefusal>(files[kPython]));
  EXPECT_TRUE(std::holds_alternative<ReproFile>(files[kCpp]));
  EXPECT_TRUE(std::holds_alternative<ReproFile>(files[kTest]));
}
TEST(ReproRefusalTest, ACellWithoutASingleLineAtFaultHasNoTest) {
  const auto files = make_repro_files(
      request_of("skip_identity_leaf", {{"pp", "1"}, {"embed", "0"}, {"recompute", "reentrant"}}));
  EXPECT_TRUE(std::holds_alternative<ReproFile>(files[kPython]));
  EXPECT_TRUE(std::holds_alternative<ReproFile>(files[kCpp]));
  EXPECT_TRUE(std::holds_alternative<ReproRefusal>(files[kTest]));
}

TEST(ModelProgramTest, WritesDownWhatEachStageCalls) {
  const Scenario& scenario = scenario_named("released_tensor_read");
  Cell cell;
  apply_settings(scenario, cell, {{"pp", "2"}, {"capture", "sent"}});
  const ModelProgram program = model_program(scenario.model, cell);
  ASSERT_EQ(program.stages.size(), 2U);
  ASSERT_EQ(program.blocks.size(), 2U);
  const Routine& first = program.stages[0];
  ASSERT_EQ(first.calls.size(), 3U);
  EXPECT_EQ(first.calls[0].op, ModelOperator::kMatmul);
  EXPECT_EQ(first.calls[0].inputs[1].parameter, "embed");
  EXPECT_EQ(first.calls[1].op, ModelOperator::kScale);
  EXPECT_EQ(first.calls[1].factor, 0.5);
  EXPECT_EQ(first.calls[2].op, ModelOperator::kRecompute);
  EXPECT_EQ(first.outputs[1].id, first.calls[1].output.id);
  // The block captures the side value.
  EXPECT_EQ(program.blocks[0].calls[0].inputs[1].id, first.calls[1].output.id);
  EXPECT_EQ(program.stages[1].inputs.size(), 2U);
}

}  // namespace
}  // namespace culprit
