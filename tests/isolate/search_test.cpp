// The search on random programs, complete and sampled, against brute force; certificates
// re-checked.
#include "isolate/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "isolate/brute_force.hpp"
#include "isolate/certificate_checker.hpp"
#include "isolate/planted.hpp"

namespace culprit {
namespace {

using planted::Bug;
using planted::Program;

using Found = std::set<std::pair<SettingSet, std::string>>;

Found found_in(const SearchResult& result) {
  Found found;
  for (const Combination& one : result.combinations) found.emplace(one.settings, one.fingerprint);
  return found;
}

Found exact(const Space& space, const brute::Table& table) {
  Found found;
  for (const ExactCombination& one : minimal_combinations(space, table.rows)) {
    found.emplace(one.settings, table.fingerprints[one.fingerprint]);
  }
  return found;
}

Found planted_in(const std::vector<Bug>& bugs) {
  Found found;
  for (const Bug& bug : bugs) found.emplace(bug.settings, bug.fingerprint);
  return found;
}

std::string words(const Found& found) {
  std::string text;
  for (const auto& [settings, fingerprint] : found) {
    for (const Setting& one : settings) {
      text += std::to_string(one.which) + "=" + std::to_string(one.value) + " ";
    }
    text += "-> " + fingerprint + "\n";
  }
  return text;
}

SearchResult run(const Space& space, Program& program, SearchOptions options) {
  return search(space, options, program.evaluator());
}

// Conditions 1 to 3 of exhaustive.hpp, with the reported combinations as those that mask.
bool fulfils(const Space& space, const brute::Table& table, const Found& reported,
             const SettingSet& settings, const std::string& fingerprint) {
  const auto name = [&](const TableRow& row) { return table.fingerprints[*row.fingerprint]; };
  bool is_plainest = true;  // the table's first row that contains the set
  for (const TableRow& row : table.rows) {
    if (!contains(row.assignment, settings)) continue;
    if (!row.fingerprint) return false;
    if (is_plainest && name(row) != fingerprint) return false;
    is_plainest = false;
    const bool masked = std::any_of(reported.begin(), reported.end(), [&](const auto& other) {
      return other.second == name(row) && contains(row.assignment, other.first) &&
             !is_subset(other.first, settings);
    });
    if (name(row) != fingerprint && !masked) return false;
  }
  return !is_plainest && planted::has_on(space, settings);
}

TEST(SearchTest, ExhaustiveFindsExactlyTheMinimalCombinations) {
  Random random(21);
  std::size_t num_found = 0;
  for (std::uint64_t round = 0; round < 200; ++round) {
    Space space = planted::random_space(random, 2 + random.below(6), 4);
    brute::add_constraints(random, space, random.below(3));
    const std::vector<Bug> bugs = brute::random_bugs(random, space, 4);
    Program program(bugs);
    SearchOptions options;
    options.seed = round;
    options.exhaustive_limit = 1U << 14;
    const SearchResult result = run(space, program, options);
    ASSERT_TRUE(result.exhaustive);
    const brute::Table table = brute::full_table(space, bugs);
    EXPECT_EQ(found_in(result), exact(space, table)) << "round " << round;
    EXPECT_EQ(result.distinct_assignments, table.rows.size());
    num_found += result.combinations.size();
    for (const StrengthCoverage& coverage : result.coverage) {
      EXPECT_EQ(coverage.left_out, 0U);
      EXPECT_EQ(coverage.run + coverage.invalid + coverage.masked, coverage.total);
    }
    if (space.constraints.empty()) {
      // Constraints can leave a combination without a pair of runs; without them every one has it.
      for (const Combination& one : result.combinations) {
        EXPECT_EQ(certificate_violation(space, one, bugs), "") << "round " << round;
      }
    }
  }
  EXPECT_GT(num_found, 300U);
}

// What each round of the sampled comparison is made of.
struct SampledCase {
  std::size_t least_switches;
  std::size_t most_switches;
  std::size_t max_values;
  std::size_t max_constraints;
  std::size_t rounds;
};

class SampledSearchTest : public testing::TestWithParam<SampledCase> {};

TEST_P(SampledSearchTest, IsSoundAndCompleteUpToItsStrength) {
  const SampledCase& one_case = GetParam();
  Random random(31 + one_case.max_values);
  std::size_t num_found = 0;
  for (std::uint64_t round = 0; round < one_case.rounds; ++round) {
    Space space = planted::random_space(
        random,
        one_case.least_switches +
            random.below(one_case.most_switches - one_case.least_switches + 1),
        one_case.max_values);
    brute::add_constraints(random, space, random.below(one_case.max_constraints + 1));
    SearchOptions options;
    options.seed = round;
    options.exhaustive_limit = 1;
    const std::vector<Bug> bugs =
        brute::random_bugs(random, space, 4, static_cast<std::size_t>(options.strength));
    Program program(bugs);
    const SearchResult result = run(space, program, options);
    ASSERT_EQ(result.stopped, SearchStop::kComplete);
    const brute::Table table = brute::full_table(space, bugs);
    const Found truth = exact(space, table);
    const std::string context = "round " + std::to_string(round) + "\nexact:\n" + words(truth) +
                                "found:\n" + words(found_in(result)) + "planted:\n" +
                                words(planted_in(bugs));
    for (const Combination& one : result.combinations) {
      ++num_found;
      EXPECT_EQ(certificate_violation(space, one, bugs), "") << context;
      Found reported = found_in(result);
      reported.insert(truth.begin(), truth.end());  // also the ones above the strength mask
      EXPECT_TRUE(fulfils(space, table, reported, one.settings, one.fingerprint)) << context;
      for (const Setting& setting : one.settings) {
        EXPECT_FALSE(fulfils(space, table, reported, without_switch(one.settings, setting.which),
                             one.fingerprint))
            << context;
      }
      // Constraints can make several sets equal in all runs; of these either may be reported.
      if (space.constraints.empty()) {
        EXPECT_TRUE(truth.count({one.settings, one.fingerprint})) << context;
      }
    }
    // A combination whose every run contains a reported one of its fingerprint adds nothing.
    for (const auto& [settings, fingerprint] : truth) {
      if (settings.size() > static_cast<std::size_t>(options.strength)) continue;
      for (const TableRow& row : table.rows) {
        if (!row.fingerprint || table.fingerprints[*row.fingerprint] != fingerprint) continue;
        if (!contains(row.assignment, settings)) continue;
        const bool accounted = std::any_of(
            result.combinations.begin(), result.combinations.end(), [&](const Combination& one) {
              return one.fingerprint == fingerprint && contains(row.assignment, one.settings);
            });
        EXPECT_TRUE(accounted) << "missed " << words({{settings, fingerprint}}) << context;
        if (!accounted) break;
      }
    }
  }
  EXPECT_GT(num_found, one_case.rounds / 2);
}

std::string name_of_case(const testing::TestParamInfo<SampledCase>& info_of_case) {
  return std::string("Case").append(std::to_string(info_of_case.index));
}

INSTANTIATE_TEST_SUITE_P(Spaces, SampledSearchTest,
                         testing::Values(SampledCase{4, 8, 2, 0, 1200},
                                         SampledCase{4, 6, 4, 0, 500}, SampledCase{4, 8, 2, 3, 150},
                                         SampledCase{4, 6, 3, 3, 150},
                                         SampledCase{11, 12, 2, 2, 20}),
                         name_of_case);

TEST(SearchTest, FindsFiveBugsAmongFortySwitches) {
  const Space space = planted::two_valued(40);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Program program(planted::five_bugs(random));
    SearchOptions options;
    options.seed = seed;
    const SearchResult result = run(space, program, options);
    EXPECT_FALSE(result.exhaustive);
    EXPECT_EQ(found_in(result), planted_in(program.bugs()));
    EXPECT_LE(result.trials, 400U);
    EXPECT_EQ(result.trials, program.num_runs());
    for (const Combination& one : result.combinations) {
      EXPECT_EQ(certificate_violation(space, one, program.bugs()), "");
    }
    ASSERT_EQ(result.coverage.size(), 3U);
    for (const StrengthCoverage& coverage : result.coverage) EXPECT_EQ(coverage.left_out, 0U);
  }
}

TEST(SearchTest, FindsBugsWithManyValuesAndConstraintsBeyondExhaustiveReach) {
  Random random(5);
  for (std::uint64_t round = 0; round < 10; ++round) {
    Space space = planted::random_space(random, 20, 4);
    brute::add_constraints(random, space, 3);
    const Bug bug{planted::random_settings(random, space, 2), "only"};
    if (!planted::has_on(space, bug.settings)) continue;
    if (!Nogoods(space).complete(bug.settings, off_assignment(space))) continue;
    Program program({bug});
    SearchOptions options;
    options.seed = round;
    const SearchResult result = run(space, program, options);
    EXPECT_EQ(found_in(result), planted_in({bug})) << "round " << round;
  }
}

TEST(SearchTest, AsksTheSameForTheSameAnswers) {
  const Space space = planted::two_valued(40);
  const auto requests = [&](std::uint64_t seed) {
    Random random(9);
    Program program(planted::five_bugs(random, 2), /*noise_seed=*/4);
    SearchOptions options;
    options.seed = seed;
    run(space, program, options);
    return program.requests();
  };
  EXPECT_EQ(requests(1), requests(1));
  EXPECT_NE(requests(1), requests(2));
}

TEST(SearchTest, BatchesFindTheSameAndHoldNoMoreThanAllowed) {
  const Space space = planted::two_valued(40);
  Random random(3);
  Program program(planted::five_bugs(random));
  SearchOptions options;
  options.batch_size = 8;
  std::size_t largest = 0;
  const Evaluate inner = program.evaluator();
  const SearchResult result = search(space, options, [&](std::span<const Assignment> batch) {
    largest = std::max(largest, batch.size());
    return inner(batch);
  });
  EXPECT_EQ(found_in(result), planted_in(program.bugs()));
  EXPECT_EQ(largest, 8U);
}

TEST(SearchTest, NeverRunsAnInvalidAssignment) {
  Random random(41);
  for (std::uint64_t round = 0; round < 50; ++round) {
    Space space = planted::random_space(random, 6, 3);
    brute::add_constraints(random, space, 4);
    Program program(brute::random_bugs(random, space, 3));
    SearchOptions options;
    options.exhaustive_limit = round % 2 == 0 ? 1 : 10'000;
    run(space, program, options);
    const Nogoods constraints(space);
    for (const Assignment& assignment : program.requests()) {
      EXPECT_FALSE(constraints.violated_by(assignment));
    }
  }
}

TEST(SearchTest, NoFailureIsANoticeAndFullCoverage) {
  Program program({});
  const SearchResult result = run(planted::two_valued(20), program, {});
  EXPECT_TRUE(result.combinations.empty());
  ASSERT_EQ(result.notices.size(), 1U);
  EXPECT_EQ(result.notices[0], "the all-first run passes");
  for (const StrengthCoverage& coverage : result.coverage) {
    EXPECT_EQ(coverage.run, coverage.total);
  }
  EXPECT_EQ(result.coverage[2].total, 1140U * 8U);
}

TEST(SearchTest, CoverageCountsInvalidAndMaskedTuples) {
  // Switch 0 on always fails; 1 and 2 exclude each other. {0 on, x, y} can only be seen failing.
  Space space = planted::two_valued(12);
  space.constraints.push_back({{{1, 0}, {2, 0}}, "1 excludes 2"});
  Program program({{{{0, 0}}, "always"}});
  SearchOptions options;
  options.exhaustive_limit = 1;
  const SearchResult result = run(space, program, options);
  ASSERT_EQ(result.combinations.size(), 1U);
  EXPECT_EQ(result.coverage[0].total, 24U);
  EXPECT_EQ(result.coverage[0].run, 24U);
  EXPECT_EQ(result.coverage[1].total, 66U * 4U);
  EXPECT_EQ(result.coverage[1].invalid, 1U);
  EXPECT_EQ(result.coverage[2].invalid, 10U * 2U);
  EXPECT_EQ(result.coverage[2].left_out, 0U);
  // 3-way tuples without switch 0 on, without the excluded pair, all passed.
  EXPECT_EQ(result.coverage[2].run + result.coverage[2].masked, 220U * 8U - 20U);
}

TEST(SearchTest, CoverageCountsWhatOnlyOccursInFailingRunsAsMasked) {
  // 3 on requires 0 on, which always fails: nothing can be said about 3 on.
  Space space = planted::two_valued(12);
  space.constraints.push_back({{{3, 0}, {0, 1}}, "3 requires 0"});
  Program program({{{{0, 0}}, "always"}});
  SearchOptions options;
  options.exhaustive_limit = 1;
  const SearchResult result = run(space, program, options);
  EXPECT_EQ(result.coverage[0].masked, 1U);
  EXPECT_EQ(result.coverage[0].run, 23U);
  EXPECT_EQ(result.coverage[1].invalid, 1U);
  EXPECT_EQ(result.coverage[1].masked, 2U * 10U);  // 3 on with each value of the ten others
  EXPECT_EQ(result.coverage[1].left_out, 0U);
}

// Programs whose combinations, found too general, hide the runs that refute each other.
TEST(SearchTest, CombinationsThatAreTooGeneralDoNotShieldEachOther) {
  const std::vector<std::vector<Bug>> programs = {
      {{{{0, 0}, {3, 0}, {6, 1}}, "a"},
       {{{0, 1}, {6, 0}}, "b"},
       {{{3, 1}, {4, 0}, {6, 1}}, "c"},
       {{{4, 1}, {6, 0}}, "b"}},
      {{{{0, 0}, {1, 0}, {2, 0}}, "a"},
       {{{0, 1}, {3, 0}, {5, 0}}, "b"},
       {{{3, 0}, {5, 1}}, "c"},
       {{{3, 1}, {5, 0}}, "d"}},
      {{{{0, 1}, {3, 0}, {6, 0}}, "a"}, {{{2, 0}, {3, 0}}, "a"}, {{{5, 0}}, "a"}},
  };
  for (std::size_t number = 0; number < programs.size(); ++number) {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
      const Space space = planted::two_valued(7 + seed % 2);
      Program program(programs[number]);
      SearchOptions options;
      options.seed = seed;
      options.exhaustive_limit = 1;
      EXPECT_EQ(found_in(run(space, program, options)), planted_in(programs[number]))
          << "program " << number << " seed " << seed;
    }
  }
}

TEST(SearchTest, StrongerArraysFindLargerInteractions) {
  const Space space = planted::two_valued(14);
  const Bug bug{{{0, 0}, {3, 0}, {7, 1}, {9, 0}}, "four-way"};
  Program program({bug});
  SearchOptions options;
  options.strength = 4;
  options.exhaustive_limit = 1;
  const SearchResult result = run(space, program, options);
  EXPECT_EQ(found_in(result), planted_in({bug}));
}

}  // namespace
}  // namespace culprit
