// Traces laid out in logical time.
#include "trace/timeline.hpp"

#include "gtest/gtest.h"

namespace culprit {
namespace {

using Kind = TraceEvent::Kind;
using Span = TimelineSpan::Kind;

TraceEvent event(Kind kind, const std::string& name, const std::string& pass = "forward",
                 int micro_batch = 0) {
  TraceEvent made;
  made.kind = kind;
  made.name = name;
  made.pass = pass;
  made.micro_batch = micro_batch;
  return made;
}
TraceEvent between(Kind kind, int peer, const std::string& pass = "forward") {
  TraceEvent made = event(kind, "activation", pass);
  made.group = "pipe";
  made.peer = peer;
  return made;
}
TraceEvent collective(Kind kind, int number) {
  TraceEvent made = event(kind, "all-reduce");
  made.group = "tensor";
  made.collective = number;
  return made;
}

TEST(TimelineTest, OperationsTakeOneUnitEach) {
  const CellTrace trace{{{.stage = 0,
                          .tp_rank = 0,
                          .events = {event(Kind::kOperator, "a"), event(Kind::kOperator, "b")}}}};
  const auto rows = lay_out(trace);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].ended, 2);
  ASSERT_EQ(rows[0].phases.size(), 1U);
  EXPECT_EQ(rows[0].phases[0].begin, 0);
  EXPECT_EQ(rows[0].phases[0].end, 2);
}
TEST(TimelineTest, ReceiverWaitsForTheSender) {
  CellTrace trace;
  trace.ranks = {{.stage = 0,
                  .tp_rank = 0,
                  .events = {event(Kind::kOperator, "a"), event(Kind::kOperator, "b"),
                             between(Kind::kSend, 1)}},
                 {.stage = 1,
                  .tp_rank = 0,
                  .events = {between(Kind::kReceive, 0), event(Kind::kOperator, "c")}}};
  const auto rows = lay_out(trace);
  ASSERT_EQ(rows[1].events.size(), 3U);
  EXPECT_EQ(rows[1].events[0].kind, Span::kWait);
  EXPECT_EQ(rows[1].events[0].end, 3);
  EXPECT_EQ(rows[1].events[1].kind, Span::kTransfer);
  EXPECT_EQ(rows[1].ended, 5);
}
TEST(TimelineTest, CollectiveStartsWhenItsLastMemberHasCome) {
  CellTrace trace;
  trace.ranks = {
      {.stage = 0,
       .tp_rank = 0,
       .events = {collective(Kind::kCollective, 0), collective(Kind::kCollectiveWait, 0)}},
      {.stage = 0,
       .tp_rank = 1,
       .events = {event(Kind::kOperator, "slow"), event(Kind::kOperator, "slow"),
                  collective(Kind::kCollective, 0), collective(Kind::kCollectiveWait, 0)}}};
  const auto rows = lay_out(trace);
  EXPECT_EQ(rows[0].ended, 3);
  EXPECT_EQ(rows[1].ended, 3);
  EXPECT_EQ(rows[0].events[0].kind, Span::kWait);
}
TEST(TimelineTest, OverlappedWorkHidesTheCollective) {
  CellTrace trace;
  const auto overlapped =
      std::vector<TraceEvent>{collective(Kind::kCollective, 0), event(Kind::kOperator, "dw"),
                              event(Kind::kOperator, "dw"), collective(Kind::kCollectiveWait, 0)};
  trace.ranks = {{.stage = 0, .tp_rank = 0, .events = overlapped},
                 {.stage = 0, .tp_rank = 1, .events = overlapped}};
  EXPECT_EQ(lay_out(trace)[0].ended, 2);
}
TEST(TimelineTest, WhatNeverComesEndsTheRow) {
  CellTrace trace;
  trace.ranks = {{.stage = 0,
                  .tp_rank = 0,
                  .events = {event(Kind::kOperator, "a")},
                  .error_kind = "LEAF_INPLACE"},
                 {.stage = 1,
                  .tp_rank = 0,
                  .events = {between(Kind::kReceive, 0), event(Kind::kOperator, "never")}}};
  const auto rows = lay_out(trace);
  EXPECT_EQ(rows[0].error_kind, "LEAF_INPLACE");
  EXPECT_TRUE(rows[1].events.empty());
  EXPECT_EQ(rows[1].ended, 0);
}
TEST(TimelineTest, PhasesFollowPassMicroBatchAndRecompute) {
  TraceEvent replay = event(Kind::kOperator, "again", "backward");
  replay.in_recompute = true;
  const CellTrace trace{
      {{.stage = 0,
        .tp_rank = 0,
        .events = {event(Kind::kOperator, "f"), event(Kind::kOperator, "f", "forward", 1), replay,
                   event(Kind::kNodeBackward, "b", "backward")}}}};
  std::vector<std::string> names;
  const auto rows = lay_out(trace);
  for (const TimelineSpan& phase : rows[0].phases)
    names.push_back(phase.name + std::to_string(phase.micro_batch));
  EXPECT_EQ(names, (std::vector<std::string>{"forward0", "forward1", "recompute0", "backward0"}));
}

}  // namespace
}  // namespace culprit
