// A traced run comes out as one without, and its trace shows what the defect is made of.
#include "trace/rank_recorder.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "engine/run_cell.hpp"
#include "gtest/gtest.h"
#include "outcome/judge.hpp"
#include "scenario/scenario.hpp"
#include "trace/trace_json.hpp"

namespace culprit {
namespace {

CellTrace traced(const Scenario& scenario, const Cell& cell) {
  CellTrace trace;
  for (RankResult& rank :
       run_cell(scenario.model, cell,
                {.keep_micro_batch_grads = false, .trace = true, .on_operation = {}}))
    trace.ranks.push_back(std::move(rank.trace));
  return trace;
}
const TraceEvent* first_named(const RankTrace& rank, TraceEvent::Kind kind,
                              const std::string& name) {
  const auto found = std::find_if(
      rank.events.begin(), rank.events.end(),
      [&](const TraceEvent& event) { return event.kind == kind && event.name == name; });
  return found == rank.events.end() ? nullptr : &*found;
}

TEST(RankRecorderTest, TracedRunsComeOutAsOthers) {
  for (const Scenario* scenario : all_scenarios())
    for (const Cell& cell : {claim_cell(*scenario), clean_cell(*scenario)}) {
      const Reference reference = make_reference(scenario->model, cell, /*keep_all=*/false);
      const Outcome plain = judge(cell, run_cell(scenario->model, cell), reference);
      const Outcome with_trace =
          judge(cell,
                run_cell(scenario->model, cell,
                         {.keep_micro_batch_grads = false, .trace = true, .on_operation = {}}),
                reference);
      EXPECT_EQ(fingerprint(plain), fingerprint(with_trace)) << scenario->name;
      EXPECT_EQ(checksum_text(plain), checksum_text(with_trace)) << scenario->name;
      EXPECT_EQ(plain.freed, with_trace.freed) << scenario->name;
      EXPECT_EQ(plain.collectives, with_trace.collectives) << scenario->name;
    }
}
TEST(RankRecorderTest, EqualRunsGiveEqualTraces) {
  const Scenario& scenario = scenario_named("skip_identity_residual");
  EXPECT_EQ(traced(scenario, claim_cell(scenario)), traced(scenario, claim_cell(scenario)));
}
TEST(RankRecorderTest, TraceSurvivesItsJson) {
  for (const char* name :
       {"skip_identity_residual", "skip_identity_leaf", "overlap_stopped_input"}) {
    const Scenario& scenario = scenario_named(name);
    const CellTrace trace = traced(scenario, claim_cell(scenario));
    EXPECT_EQ(trace_from_json(trace_to_json(trace)), trace) << name;
  }
}
TEST(RankRecorderTest, SkippedIdentityRebasesTheObjectPassedIn) {
  const Scenario& scenario = scenario_named("skip_identity_residual");
  const TraceEvent* skip = nullptr;
  const CellTrace failing = traced(scenario, claim_cell(scenario));
  skip = first_named(failing.ranks[0], TraceEvent::Kind::kCustomFunction, "c_identity");
  ASSERT_NE(skip, nullptr);
  ASSERT_EQ(skip->outputs.size(), 1U);
  EXPECT_EQ(skip->outputs[0].object, skip->inputs[0].object);
  EXPECT_TRUE(skip->rebased[0]);
  EXPECT_EQ(skip->outputs[0].version, 1U);

  Cell copying = claim_cell(scenario);
  copying.identity = IdentityVariant::kCopy;
  const CellTrace clean = traced(scenario, copying);
  const TraceEvent* copy =
      first_named(clean.ranks[0], TraceEvent::Kind::kCustomFunction, "c_identity");
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(copy->outputs[0].object, copy->inputs[0].object);
  EXPECT_NE(copy->outputs[0].storage, copy->inputs[0].storage);
  EXPECT_FALSE(copy->rebased[0]);
}
TEST(RankRecorderTest, FailedRankKeepsItsErrorAndPlace) {
  const Scenario& scenario = scenario_named("skip_identity_recompute");
  const CellTrace trace = traced(scenario, claim_cell(scenario));
  const auto failed =
      std::find_if(trace.ranks.begin(), trace.ranks.end(),
                   [](const RankTrace& rank) { return rank.error_kind == "LEAF_INPLACE"; });
  ASSERT_NE(failed, trace.ranks.end());
  const TraceEvent& raised = failed->events.back();
  EXPECT_EQ(raised.kind, TraceEvent::Kind::kRaised);
  EXPECT_EQ(raised.pass, "backward");
  EXPECT_TRUE(raised.in_recompute);
  const TraceEvent& refused = *(failed->events.end() - 2);
  EXPECT_EQ(refused.name, "c_identity");
  EXPECT_EQ(refused.outputs.at(0).object, refused.inputs.at(0).object);
  EXPECT_TRUE(refused.outputs[0].is_leaf);
}
TEST(RankRecorderTest, DamagedJsonIsAnError) {
  EXPECT_THROW(trace_from_json("{\"schema\":1,\"ranks\":[{\"stage\":0}]}"), SetupError);
  EXPECT_THROW(trace_from_json("{\"schema\":2,\"ranks\":[]}"), SetupError);
  EXPECT_THROW(trace_from_json("[1,"), SetupError);
}

}  // namespace
}  // namespace culprit
