// What is drawn around a defect, from traces made up here.
#include "report/graph_slice.hpp"

#include "gtest/gtest.h"
#include "report/html_report.hpp"
#include "report/made_up_record.hpp"

namespace culprit {
namespace {

TraceTensor tensor(int object, int storage, const std::string& name, bool is_leaf = false) {
  return {.object = object,
          .impl = object,
          .storage = storage,
          .name = name,
          .version = 0,
          .is_leaf = is_leaf,
          .stop_gradient = false};
}
TraceEvent operation(const std::string& name, std::vector<TraceTensor> inputs,
                     std::vector<TraceTensor> outputs, int node, std::vector<int> input_nodes,
                     bool rebased = false) {
  TraceEvent event;
  event.kind = name == "identity" ? TraceEvent::Kind::kCustomFunction : TraceEvent::Kind::kOperator;
  event.name = name;
  event.pass = "forward";
  event.inputs = std::move(inputs);
  event.outputs = std::move(outputs);
  event.recorded = node >= 0;
  event.node = node;
  event.input_nodes = std::move(input_nodes);
  event.rebased = {rebased};
  return event;
}
CellTrace one_rank(std::vector<TraceEvent> events) {
  return {.ranks = {{.stage = 0, .tp_rank = 0, .events = std::move(events)}}};
}

// x = matmul(data); y = identity(x); z = y + x, where y is x itself, or with `is_fresh` a copy.
CellTrace shared_input(bool is_fresh) {
  const TraceTensor x = tensor(1, 1, "x"), y = is_fresh ? tensor(2, 2, "y") : x;
  std::vector<TraceEvent> events{operation("matmul", {tensor(0, 0, "data", true)}, {x}, 0, {-1})};
  if (is_fresh) events.push_back(operation("assign", {x}, {y}, -1, {}));
  events.push_back(operation("identity", {x}, {y}, 1, {0}, !is_fresh));
  events.push_back(operation("add", {y, x}, {tensor(3, 3, "z")}, 2, {1, is_fresh ? 0 : 1}));
  return one_rank(std::move(events));
}

struct GraphSliceTest : testing::Test {
  RunRecord record = test::made_up_record();
  JobResult& job = record.jobs[0];
  MinimalFinding& finding = job.minimal[0];
};

TEST_F(GraphSliceTest, AWrongNumberBeginsWhereTheTwoRunsPart) {
  finding.trace = shared_input(false);
  finding.neighbour_trace = shared_input(true);
  const auto slices = slice_around_defect(job, finding);
  ASSERT_TRUE(slices);
  const auto& [failing, passing] = *slices;
  ASSERT_EQ(failing.rows.size(), 3U);
  EXPECT_TRUE(failing.rows[1].is_defect);
  EXPECT_EQ(failing.rows[1].event->name, "identity");
  EXPECT_EQ(aliasing_in_words(*failing.rows[1].event, 0), "the object passed in");
  EXPECT_EQ(failing.rows[1].output_differs, std::vector<bool>{true});
  EXPECT_EQ(failing.rows[2].twin_nodes, (std::vector<int>{1, 0}));
  EXPECT_EQ(failing.storages, std::vector<int>{1});
  EXPECT_EQ(passing.rows[2].event->name, "identity");
  EXPECT_EQ(passing.storages, (std::vector<int>{1, 2}));
  EXPECT_EQ(slice_in_words(failing),
            (std::vector<std::string>{
                "identity gives back the object passed in (x); its history now begins at n1, for "
                "every later use",
                "add sends the gradient of x to n1; in the passing run it goes to n0"}));
}
TEST_F(GraphSliceTest, AnErrorIsInTheLastOperation) {
  finding.trace =
      one_rank({operation("matmul", {tensor(0, 0, "data", true)}, {tensor(1, 1, "x")}, 0, {-1}),
                operation("identity", {tensor(2, 2, "received", true)},
                          {tensor(2, 2, "received", true)}, -1, {})});
  finding.trace.ranks[0].error_kind = "LEAF_INPLACE";
  const auto slices = slice_around_defect(job, finding);
  ASSERT_TRUE(slices);
  EXPECT_TRUE(slices->second.rows.empty());
  ASSERT_EQ(slices->first.rows.size(), 1U);
  EXPECT_EQ(slices->first.rows[0].raised, GraphRow::Raised::kInCall);
  EXPECT_EQ(slices->first.rows[0].error_kind, "LEAF_INPLACE");
  EXPECT_EQ(slices->first.rows[0].skipped, 1U);
  EXPECT_EQ(
      slice_in_words(slices->first),
      std::vector<std::string>{
          "identity gives back the object passed in (received), a leaf; LEAF_INPLACE is raised"});
}
TEST_F(GraphSliceTest, AnErrorOfTheBackwardIsAtTheOperationWhoseNodeWasToRun) {
  finding.trace =
      one_rank({operation("matmul", {tensor(0, 0, "data", true)}, {tensor(1, 1, "x")}, 0, {-1}),
                operation("scale", {tensor(1, 1, "x")}, {tensor(2, 2, "y")}, 1, {0}),
                operation("mean", {tensor(2, 2, "y")}, {tensor(3, 3, "loss")}, 2, {1})});
  TraceEvent ran, raised;
  ran.kind = TraceEvent::Kind::kNodeBackward;
  ran.pass = "backward";
  ran.node = 2;
  raised.kind = TraceEvent::Kind::kRaised;
  raised.pass = "backward";
  auto& rank = finding.trace.ranks[0];
  rank.events.push_back(ran);
  rank.events.push_back(raised);
  rank.error_kind = "INPLACE_VERSION";
  const auto slices = slice_around_defect(job, finding);
  ASSERT_TRUE(slices);
  EXPECT_EQ(slice_in_words(slices->first),
            std::vector<std::string>{"the backward of scale (n1) raises INPLACE_VERSION"});
}
TEST_F(GraphSliceTest, NothingIsDrawnWithoutATrace) {
  EXPECT_FALSE(slice_around_defect(job, finding));
  EXPECT_EQ(html_graph(job, finding), "");
  EXPECT_EQ(html_traces(record), "");
}
TEST_F(GraphSliceTest, NamesFromTracesAreEscaped) {
  finding.trace =
      one_rank({operation("<b>", {tensor(0, 0, "<i>", true)}, {tensor(1, 1, "<u>")}, 0, {-2})});
  const std::string page = html_traces(record);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<u>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;"), std::string::npos);
}

}  // namespace
}  // namespace culprit
