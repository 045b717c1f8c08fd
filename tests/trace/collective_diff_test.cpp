// Where the collectives of two runs first differ.
#include "trace/collective_diff.hpp"

#include "gtest/gtest.h"

namespace culprit {
namespace {

using Kind = CollectiveDifference::Kind;

TraceEvent reduce(const std::string& name, std::int64_t num_elements = 24) {
  TraceEvent event;
  event.kind = TraceEvent::Kind::kCollective;
  event.name = name;
  event.group = "tensor";
  event.num_elements = num_elements;
  return event;
}
CellTrace rank_with(const std::vector<TraceEvent>& events) {
  return {{{.stage = 1, .tp_rank = 1, .events = events}}};
}
CollectiveDifference only_difference(const std::vector<TraceEvent>& failing,
                                     const std::vector<TraceEvent>& passing) {
  const auto differences = diff_collectives(rank_with(failing), rank_with(passing));
  if (differences.size() != 1) {
    ADD_FAILURE() << differences.size() << " differences";
    return {};
  }
  return differences[0];
}

TEST(CollectiveDiffTest, EqualStreamsHaveNone) {
  const auto stream = rank_with({reduce("a"), reduce("b")});
  EXPECT_TRUE(diff_collectives(stream, stream).empty());
}
TEST(CollectiveDiffTest, OperatorsBetweenDoNotCount) {
  TraceEvent op;
  op.name = "matmul";
  EXPECT_TRUE(
      diff_collectives(rank_with({reduce("a"), op}), rank_with({op, op, reduce("a")})).empty());
}
TEST(CollectiveDiffTest, ExtraCall) {
  const auto found =
      only_difference({reduce("a"), reduce("x"), reduce("b")}, {reduce("a"), reduce("b")});
  EXPECT_EQ(found.kind, Kind::kExtra);
  EXPECT_EQ(found.position, 1U);
  EXPECT_EQ(found.stage, 1);
  EXPECT_EQ(found.tp_rank, 1);
  EXPECT_NE(found.in_words.find("x (24 elements)"), std::string::npos) << found.in_words;
}
TEST(CollectiveDiffTest, MissingCall) {
  const auto found =
      only_difference({reduce("a"), reduce("c")}, {reduce("a"), reduce("b"), reduce("c")});
  EXPECT_EQ(found.kind, Kind::kMissing);
  EXPECT_EQ(found.call, "b (24 elements)");
}
TEST(CollectiveDiffTest, StreamThatEndsEarly) {
  const auto found = only_difference({reduce("a")}, {reduce("a"), reduce("b")});
  EXPECT_EQ(found.kind, Kind::kMissing);
  EXPECT_EQ(found.position, 1U);
}
TEST(CollectiveDiffTest, SwappedCalls) {
  EXPECT_EQ(only_difference({reduce("b"), reduce("a"), reduce("c")},
                            {reduce("a"), reduce("b"), reduce("c")})
                .kind,
            Kind::kReordered);
}
TEST(CollectiveDiffTest, AnotherSize) {
  const auto found = only_difference({reduce("a", 12)}, {reduce("a", 24)});
  EXPECT_EQ(found.kind, Kind::kDifferentSize);
  EXPECT_NE(found.in_words.find("12 elements"), std::string::npos);
  EXPECT_NE(found.in_words.find("24 elements"), std::string::npos);
}
TEST(CollectiveDiffTest, RanksThatOneRunLacksAreLeftOut) {
  CellTrace two = rank_with({reduce("a")});
  two.ranks.push_back({.stage = 0, .tp_rank = 0, .events = {reduce("z")}});
  EXPECT_TRUE(diff_collectives(two, rank_with({reduce("a")})).empty());
}

}  // namespace
}  // namespace culprit
