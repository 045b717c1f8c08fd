#include "terminal/suggest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace culprit {
namespace {

TEST(SuggestTest, MeasuresTheUsualSlips) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("recompute", "recopmute"), 1u);  // a swap
  EXPECT_EQ(edit_distance("First_Op", "first-op"), 0u);
}

TEST(SuggestTest, FindsTheNearestOrNothing) {
  const std::vector<std::string> names{"recompute", "residual", "release", "tp", "pp"};
  EXPECT_EQ(nearest_name("recomptue", names), "recompute");
  EXPECT_EQ(nearest_name("residuals", names), "residual");
  EXPECT_EQ(nearest_name("t", names), "tp");
  EXPECT_EQ(nearest_name("xyz", names), std::nullopt);
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name("a", std::vector<std::string>{"b"}), std::nullopt);
  EXPECT_EQ(did_you_mean("relaese", names), "; did you mean 'release'?");
  EXPECT_EQ(did_you_mean("something-else", names), "");
}

}  // namespace
}  // namespace culprit
