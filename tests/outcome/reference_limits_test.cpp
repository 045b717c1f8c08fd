// Sizes at which a reference can't serve.
#include "base/error.hpp"
#include "gtest/gtest.h"
#include "outcome/reference.hpp"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

std::string refusal(const Cell& cell) {
  try {
    make_reference(stack(), cell, /*keep_all=*/false);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ReferenceLimitsTest, VanishingGradientsAreRefused) {
  EXPECT_NE(refusal(cell_of({{"pp", "1"}, {"acc", "1"}, {"blocks", "1000"}})).find("vanishes"), std::string::npos);
}
TEST(ReferenceLimitsTest, OverflowIsRefused) {
  const std::string why = refusal(cell_of({{"pp", "1"}, {"acc", "1"}, {"blocks", "4000"}, {"residual", "1"}}));
  EXPECT_NE(why.find("overflows"), std::string::npos) << why;
}
TEST(ReferenceLimitsTest, MoreThanTheMachineHasIsRefusedBeforeAnythingIsAllocated) {
  const std::string why = refusal(cell_of({{"pp", "1"}, {"hidden", "1048576"}}));
  EXPECT_NE(why.find("GiB"), std::string::npos) << why;
}
TEST(ReferenceLimitsTest, EveryOperationIsASignOfLife) {
  int operations = 0;
  const Cell cell = cell_of({{"acc", "3"}});
  make_reference(stack(), cell, /*keep_all=*/false, [&] { ++operations; });
  EXPECT_GE(operations, 3 * cell.blocks);
}

}  // namespace
}  // namespace culprit::test
