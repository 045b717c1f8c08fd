#include "multiprocess/tags.hpp"

#include <climits>
#include <set>

#include "gtest/gtest.h"

namespace culprit::test {
namespace {

// Open MPI's largest over UCX and over its own transports, and the least that is taken.
TEST(TagsTest, GroupsAndWhatIsUnderWayAreToldApartWithinWhatThePathHas) {
  for (const int largest : {Tags::kLeast, (1 << 23) - 1, INT_MAX}) {
    const Tags tags(largest);
    std::set<int> seen;
    std::size_t expected = 0;
    for (int group = 0; group < Tags::kMostGroups; ++group) {
      seen.insert(tags.message(group));
      ++expected;
      for (int call = 0; call < Tags::kFewestCallsApart; ++call, ++expected)
        seen.insert(tags.collective(group, static_cast<std::uint64_t>(call)));
    }
    EXPECT_EQ(seen.size(), expected) << largest;
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LE(*seen.rbegin(), largest);
    const int last_group = Tags::kMostGroups - 1;
    for (const std::uint64_t call : {std::uint64_t{UINT_MAX}, UINT64_MAX}) {
      EXPECT_GE(tags.collective(last_group, call), tags.collective(last_group, 0));
      EXPECT_LT(tags.collective(last_group, call), tags.message(last_group));
    }
  }
}

}  // namespace
}  // namespace culprit::test
