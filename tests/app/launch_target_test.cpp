#include "app/launch_target.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"

namespace culprit {
namespace {

launch::LaunchMapping mapping() {
  launch::LaunchMapping result;
  result.tp = 2;
  result.pp = 2;
  result.acc = 8;
  result.skip_c_identity = true;
  result.async_all_reduce = true;
  result.recompute = true;
  return result;
}

Space space() {
  return {{{"identity", {"skip", "copy"}},
           {"recompute", {"reentrant", "nonreentrant", "none"}},
           {"path", {"overlap", "identity"}},
           {"residual", {"1", "0"}}},
          {}};
}

std::vector<std::string> turned_off(const SettingSet& settings,
                                    const launch::LaunchMapping& from = mapping()) {
  std::vector<std::string> names;
  const auto edits = edits_for(from, space(), settings);
  if (!edits) return {"(not possible)"};
  for (const launch::LaunchEdit& edit : *edits) {
    EXPECT_EQ(edit.value, "off");
    names.push_back(edit.setting);
  }
  return names;
}

TEST(LaunchTargetTest, TakesSizesAndSwitches) {
  ScenarioRequest request;
  request.given = {{"tokens", "5"}};
  add_launch(mapping(), request);
  const auto has = [&](const std::string& name, const std::string& value) {
    return std::find(request.given.begin(), request.given.end(), std::pair(name, value)) !=
           request.given.end();
  };
  EXPECT_TRUE(has("tp", "2"));
  EXPECT_TRUE(has("acc", "8"));
  EXPECT_TRUE(has("identity", "skip"));
  EXPECT_TRUE(has("recompute", "reentrant"));
  EXPECT_EQ(request.given.back(), std::pair(std::string("tokens"), std::string("5")));
  EXPECT_EQ(request.vary, (std::vector<std::string>{"path=overlap|identity"}));
}

TEST(LaunchTargetTest, TurnsOffWhatIsNotNeeded) {
  // skip + recompute, path must be off: only the overlap goes.
  EXPECT_EQ(turned_off({{0, 0}, {1, 0}, {2, 1}}), (std::vector<std::string>{"async-all-reduce"}));
  // Either kind of recompute is the script's recompute.
  EXPECT_EQ(turned_off({{0, 0}, {1, 1}}), (std::vector<std::string>{"async-all-reduce"}));
  EXPECT_EQ(turned_off({{0, 0}, {3, 0}}),
            (std::vector<std::string>{"recompute", "async-all-reduce"}));
  EXPECT_EQ(turned_off({{2, 0}}), (std::vector<std::string>{"skip-c-identity", "recompute"}));
}

TEST(LaunchTargetTest, CanNotTurnOnWhatTheScriptHasOff) {
  launch::LaunchMapping without = mapping();
  without.recompute = false;
  EXPECT_EQ(turned_off({{0, 0}, {1, 0}}, without), (std::vector<std::string>{"(not possible)"}));
  EXPECT_EQ(turned_off({{0, 0}}, without), (std::vector<std::string>{"async-all-reduce"}));
}

}  // namespace
}  // namespace culprit
