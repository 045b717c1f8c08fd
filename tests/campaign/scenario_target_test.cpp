#include "campaign/scenario_target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "matrix/axes.hpp"

namespace culprit {
namespace {

ScenarioRequest request(Settings given = {}, std::vector<std::string> vary = {}) {
  // Any program that exists: nothing is run here.
  return {.given = std::move(given), .vary = std::move(vary), .program = "/bin/true"};
}

CommandSpec spec_of(const std::string& name, const ScenarioRequest& asked = request()) {
  return scenario_command(scenario_named(name), asked);
}

// Every cell that the target can run, with all sizes as they are, as the flags that make it.
std::set<std::vector<std::string>> cells_of(const Scenario& scenario,
                                            const ScenarioRequest& asked) {
  const CommandTarget target(scenario_command(scenario, asked));
  std::set<std::vector<std::string>> cells;
  Assignment assignment(target.space().switches.size(), 0);
  for (bool more = true; more;) {
    if (is_valid(target.space(), assignment)) {
      const Cell cell = cell_of_trial(scenario, asked, target, target.trial(assignment));
      EXPECT_EQ(why_impossible(cell), "");
      cells.insert(to_flags(cell));
    }
    more = false;
    for (std::size_t i = 0; i < assignment.size() && !more; ++i) {
      more = ++assignment[i] < target.space().switches[i].values.size();
      if (!more) assignment[i] = 0;
    }
  }
  return cells;
}

TEST(ScenarioTargetTest, DescribesTheSwitchesOfTheMatrix) {
  const CommandSpec spec = spec_of("skip_identity_leaf");
  EXPECT_EQ(spec.toggles,
            (std::vector<std::string>{"identity=skip|copy", "recompute=reentrant|nonreentrant|none",
                                      "pp=2|1", "first_op=scale|none", "residual=1|0"}));
  EXPECT_TRUE(spec.excludes_rules.empty());
  EXPECT_TRUE(spec.stall.has_value());
}

// The cells that are searched are those that `culprit run` runs.
TEST(ScenarioTargetTest, SpansTheSameCellsAsTheMatrix) {
  for (const Scenario* scenario : all_scenarios()) {
    Cell pinned;
    pinned.pp = std::max(pinned.pp, claim_cell(*scenario).pp);
    const Matrix matrix = make_matrix(*scenario, pinned, /*with_recompute=*/true);
    std::set<std::vector<std::string>> expected;
    for (const Choice& choice : matrix.choices) {
      Cell cell = cell_of(matrix, choice);
      for (const Field& own : scenario->own_toggles) own.set(cell, own.get(cell));
      expected.insert(to_flags(cell));
    }
    EXPECT_EQ(cells_of(*scenario, request()), expected) << scenario->name;
  }
}

TEST(ScenarioTargetTest, TheReportersValuesComeFirstAndSizesAreTaken) {
  const CommandSpec spec = spec_of(
      "skip_identity_leaf",
      request({{"tp", "4"}, {"pp", "4"}, {"recompute", "nonreentrant"}, {"identity", "view"}}));
  EXPECT_EQ(spec.toggles[0], "identity=view|skip|copy");
  EXPECT_EQ(spec.toggles[1], "recompute=nonreentrant|reentrant|none");
  EXPECT_EQ(spec.toggles[2], "pp=4|1");
  std::set<std::string> sizes;
  for (const SizeSpec& size : spec.sizes) {
    sizes.insert(size.name);
    // One pipeline stage is what pp off means: as a size it goes down to two.
    EXPECT_EQ(size.values.front(), size.name == "pp" ? 2 : 1);
  }
  for (const char* name : {"tp", "pp", "acc", "blocks", "hidden", "tokens"})
    EXPECT_TRUE(sizes.contains(name)) << name;
}

TEST(ScenarioTargetTest, MoreFieldsCanBeSearched) {
  const CommandSpec spec =
      spec_of("skip_identity_leaf", request({}, {"path", "fan_out=3|1", "loss_scale=1024|1"}));
  for (const char* expected : {"path=overlap|identity", "fan_out=3|1", "loss_scale=1024|1"})
    EXPECT_NE(std::find(spec.toggles.begin(), spec.toggles.end(), expected), spec.toggles.end())
        << expected;
  EXPECT_THROW(spec_of("skip_identity_leaf", request({}, {"pathh"})), UsageError);
  EXPECT_THROW(spec_of("skip_identity_leaf", request({}, {"path=side|identity"})), UsageError);
  EXPECT_THROW(spec_of("skip_identity_leaf", request({}, {"tokens"})), UsageError);
}

TEST(ScenarioTargetTest, WhatCanNotBeRunIsAConstraint) {
  const CommandSpec spec = spec_of("released_tensor_read");
  EXPECT_EQ(spec.excludes_rules, (std::vector<std::string>{"release=1, pp=1"}));
  // At tp 1 a column linear has no identity to vary.
  const CommandSpec single = spec_of("skip_identity_leaf", request({{"tp", "1"}}));
  for (const std::string& toggle : single.toggles) EXPECT_FALSE(toggle.starts_with("identity="));
}

TEST(ScenarioTargetTest, OffersTheCandidateFixes) {
  const CommandTarget target(spec_of("skip_identity_leaf"));
  std::set<std::string> names;
  for (const CommandFix& fix : target.spec().fixes) names.insert(fix.name);
  EXPECT_EQ(names, (std::set<std::string>{"view", "copy", "detach", "reshape", "mark_not_inplace",
                                          "operator before", "overlap path",
                                          "recompute nonreentrant", "recompute reentrant"}));
  for (std::size_t f = 0; f < target.spec().fixes.size(); ++f) {
    const CommandFix& fix = target.spec().fixes[f];
    // A new handle instead of the skip concerns only cells that skip; an operator before any cell.
    const bool concerns_all = fix.name == "operator before" || fix.name == "overlap path";
    EXPECT_EQ(target.fix_applies(f, target.reference()), concerns_all) << fix.name;
  }
  names.clear();
  for (const CommandFix& fix : spec_of("skip_identity_leaf", request({{"framework", "torch@2.15.0"}})).fixes)
    names.insert(fix.name);
  EXPECT_TRUE(names.contains("view"));
  EXPECT_FALSE(names.contains("mark_not_inplace"));
}

}  // namespace
}  // namespace culprit
