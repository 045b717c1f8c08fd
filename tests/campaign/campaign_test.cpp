// A whole campaign on small shell commands: search, sizes, fixes, budget, one journal.
#include "campaign/campaign.hpp"

#include "campaign/scenario_target.hpp"
#include "process/process_test_support.hpp"
#include "target/target_test_support.hpp"

namespace culprit {
namespace {

class CampaignTest : public testing::Test {
 protected:
  CampaignResult run(const CommandTarget& target, CampaignOptions options = {}) {
    Journal journal =
        Journal::resume(folder_ / "journal", {target.trial_space(), target.description()}, "test");
    options.runner.work_directory = folder_ / "";
    return run_campaign(target, journal, options);
  }

  TemporaryFolder folder_;
};

CommandSpec spec(const std::string& body) {
  CommandSpec result;
  result.command = "sh -c '" + body + "' sh {toggles} {n}";
  result.toggles = {"a=1|0", "b=1|0", "c=1|0"};
  result.sizes = {parse_size("n=6:1")};
  return result;
}

TEST_F(CampaignTest, FindsCombinationSizesAndFixes) {
  CommandSpec with = spec(R"([ "$1$2" = 11 ] && [ $4 -ge 4 ] && [ -z "$X" ] && exit 3; exit 0)");
  with.fixes = {parse_environment_fix("X=1"), parse_environment_fix("Y=1")};
  const CampaignResult result = run(CommandTarget(with));
  EXPECT_EQ(result.stopped, CampaignStop::kComplete);
  ASSERT_EQ(result.search.combinations.size(), 1u);
  EXPECT_EQ(result.search.combinations[0].settings, (SettingSet{{0, 0}, {1, 0}}));
  const CombinationDetail& detail = result.details.at(0);
  EXPECT_EQ(detail.plain, (Assignment{0, 0, 1, 5, 1, 1}));
  EXPECT_EQ(detail.smallest, (Assignment{0, 0, 1, 3, 1, 1}));
  ASSERT_TRUE(detail.sizes);
  EXPECT_EQ(detail.sizes->result.sizes, (Sizes{4}));
  ASSERT_TRUE(result.fixes);
  EXPECT_EQ(result.fixes->result.alone.at(0).verdict, FixVerdict::kResolves);
  EXPECT_EQ(result.fixes->result.alone.at(1).verdict, FixVerdict::kNoEffect);
  // The failing cell, the reference, and what passes without one of the settings.
  EXPECT_EQ(result.fixes->cells.size(), 4u);
}

TEST_F(CampaignTest, TheBudgetIsOneForAllParts) {
  CommandSpec with = spec(R"([ "$1$2" = 11 ] && [ $4 -ge 4 ] && exit 3; exit 0)");
  const CommandTarget target(with);
  CampaignOptions options;
  options.search.max_trials = 13;  // enough for the search, not for the sizes
  const CampaignResult result = run(target, options);
  EXPECT_EQ(result.stopped, CampaignStop::kBudget);
  EXPECT_EQ(result.trials, 13u);
  ASSERT_EQ(result.search.combinations.size(), 1u);
  EXPECT_TRUE(result.search.combinations[0].proven);
  ASSERT_TRUE(result.details[0].sizes);
  EXPECT_FALSE(result.details[0].sizes->result.complete);
  // The same journal goes on and comes to the end.
  const CampaignResult resumed = run(target);
  EXPECT_EQ(resumed.stopped, CampaignStop::kComplete);
  EXPECT_EQ(resumed.details[0].sizes->result.sizes, (Sizes{4}));
}

TEST_F(CampaignTest, SilentFailuresComeFirst) {
  CommandSpec with;
  with.command =
      "sh -c '[ $1 = 1 ] && exit 3; [ $2 = 1 ] && w=2 || w=1; echo \"{\\\"w\\\": $w}\" >$3' sh "
      "{toggles} {dump.json}";
  with.toggles = {"a=1|0", "b=1|0"};
  const CampaignResult result = run(CommandTarget(with));
  ASSERT_EQ(result.search.combinations.size(), 2u);
  EXPECT_EQ(result.search.combinations[0].fingerprint, "DUMP:differs:w");
  EXPECT_EQ(result.search.combinations[1].fingerprint, "EXIT:3");
}

TEST_F(CampaignTest, CostsAreThoseOfThePassingCells) {
  const Scenario& scenario = scenario_named("skip_identity_leaf");
  const CommandTarget target(
      scenario_command(scenario, {.given = {{"pp", "1"}},
                                  .vary = {},
                                  .program = std::string(CULPRIT_BIN) + "/skip_identity_leaf"}));
  Journal journal =
      Journal::create(folder_ / "journal", {target.trial_space(), target.description()}, "test");
  CampaignOptions options;
  options.runner.jobs = options.search.batch_size = 2;
  const CampaignResult result = run_campaign(target, journal, options);
  ASSERT_TRUE(result.fixes);
  std::set<std::string> seen;
  for (const FixAttribution& each : result.fixes->result.alone)
    for (const FixCellEffect& effect : each.effects) {
      if (effect.effect != ObservedEffect::kStaysPassing) continue;
      for (const auto& [name, amount] :
           extra_cost(target, journal, result.fixes->cells[effect.cell], each.fixes)) {
        // A copy for each linear costs bytes; the skip that it replaces costs none.
        if (name == "copied_bytes" && target.spec().fixes[each.fixes[0]].name == "copy") {
          EXPECT_GT(amount, 0);
        }
        seen.insert(name);
      }
    }
  EXPECT_TRUE(seen.contains("copied_bytes"));
  EXPECT_TRUE(seen.contains("peak_bytes"));
  EXPECT_TRUE(seen.contains("collectives"));
}

}  // namespace
}  // namespace culprit
