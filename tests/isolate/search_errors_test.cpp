// What the search refuses, and what it returns when it is stopped or runs can't be judged.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.hpp"
#include "isolate/certificate_checker.hpp"
#include "isolate/planted.hpp"
#include "isolate/search.hpp"

namespace culprit {
namespace {

using planted::Bug;
using planted::Program;

TEST(SearchErrorsTest, ReferenceThatFailsIsRefusedAfterOneTrial) {
  Program program({{{{0, 1}}, "always there"}});
  const Evaluate evaluate = program.evaluator();
  try {
    search(planted::two_valued(5), {}, evaluate);
    FAIL() << "expected a UsageError";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("always there"), std::string::npos);
  }
  EXPECT_EQ(program.num_runs(), 1U);
}

TEST(SearchErrorsTest, ReferenceThatCannotBeJudgedIsRefused) {
  std::size_t num_runs = 0;
  EXPECT_THROW(search(planted::two_valued(5), {},
                      [&](std::span<const Assignment> batch) {
                        num_runs += batch.size();
                        return std::vector<Trial>(batch.size());
                      }),
               UsageError);
  EXPECT_EQ(num_runs, 3U);  // the first attempt and two retries
}

TEST(SearchErrorsTest, OptionsOutOfRangeAreRefusedBeforeTheFirstTrial) {
  std::vector<SearchOptions> refused(7);
  refused[0].strength = 0;
  refused[1].strength = kMaxStrength + 1;
  refused[2].max_trials = 0;
  refused[3].batch_size = 0;
  refused[4].confirm_repeats = 0;
  refused[5].failure_rate_floor = 0.0;
  refused[6].failure_rate_floor = 1.0;
  for (const SearchOptions& options : refused) {
    Program program({});
    EXPECT_THROW(search(planted::two_valued(3), options, program.evaluator()), UsageError);
    EXPECT_EQ(program.num_runs(), 0U);
  }
}

TEST(SearchErrorsTest, ExceptionsOfTheEvaluatorPassThrough) {
  EXPECT_THROW(search(planted::two_valued(5), {},
                      [](std::span<const Assignment>) -> std::vector<Trial> {
                        throw std::runtime_error("signal");
                      }),
               std::runtime_error);
}

TEST(SearchErrorsTest, MoreResultsThanAskedAreRefused) {
  EXPECT_THROW(search(planted::two_valued(5), {},
                      [](std::span<const Assignment> batch) {
                        return std::vector<Trial>(batch.size() + 1, {Trial::Status::kPass, ""});
                      }),
               UsageError);
}

TEST(SearchErrorsTest, BudgetIsNeverExceededAndWhatIsProvenHolds) {
  const Space space = planted::two_valued(40);
  std::size_t num_unproven = 0;
  std::size_t num_proven = 0;
  for (std::size_t budget = 1; budget <= 250; budget += 3) {
    Random random(6);
    Program program(planted::five_bugs(random));
    SearchOptions options;
    options.max_trials = budget;
    const SearchResult result = search(space, options, program.evaluator());
    EXPECT_LE(program.num_runs(), budget);
    EXPECT_EQ(result.trials, program.num_runs());
    if (result.stopped == SearchStop::kComplete) {
      EXPECT_EQ(result.combinations.size(), 5U);
    } else {
      EXPECT_EQ(result.stopped, SearchStop::kBudget);
      EXPECT_EQ(program.num_runs(), budget);
    }
    for (const Combination& one : result.combinations) {
      if (one.proven) {
        EXPECT_EQ(certificate_violation(space, one, program.bugs()), "");
        ++num_proven;
      } else {
        EXPECT_FALSE(one.incomplete.empty());
        ++num_unproven;
      }
    }
    // A failure seen is reported in one way or another.
    const bool saw_failure = std::any_of(
        program.requests().begin(), program.requests().end(), [&](const Assignment& assignment) {
          return Program(program.bugs()).run(assignment).status == Trial::Status::kFail;
        });
    EXPECT_EQ(saw_failure, !result.combinations.empty() || !result.unreduced.empty());
    for (const StrengthCoverage& coverage : result.coverage) {
      EXPECT_EQ(coverage.run + coverage.invalid + coverage.masked + coverage.left_out,
                coverage.total);
    }
    if (budget < 20) {
      EXPECT_GT(result.coverage[2].left_out, 0U);
    }
  }
  EXPECT_GT(num_unproven, 0U);
  EXPECT_GT(num_proven, 0U);
}

TEST(SearchErrorsTest, ExhaustiveStoppedByTheBudgetIsNotExhaustive) {
  Program program({{{{0, 0}, {1, 0}}, "bug"}});
  SearchOptions options;
  options.max_trials = 20;
  const SearchResult result = search(planted::two_valued(6), options, program.evaluator());
  EXPECT_FALSE(result.exhaustive);
  EXPECT_EQ(result.stopped, SearchStop::kBudget);
  EXPECT_FALSE(result.unreduced.empty());
  EXPECT_GT(result.coverage[2].left_out, 0U);
}

TEST(SearchErrorsTest, EvaluatorThatReturnsLessStopsTheSearch) {
  Program program({{{{3, 0}}, "bug"}});
  const Evaluate inner = program.evaluator();
  const SearchResult result =
      search(planted::two_valued(20), {}, [&](std::span<const Assignment> batch) {
        return program.num_runs() >= 30 ? std::vector<Trial>{} : inner(batch);
      });
  EXPECT_EQ(result.stopped, SearchStop::kEvaluator);
  EXPECT_EQ(result.trials, 30U);
  ASSERT_EQ(result.combinations.size(), 1U);
  EXPECT_EQ(result.combinations[0].settings, (SettingSet{{3, 0}}));
}

TEST(SearchErrorsTest, RunsThatCannotBeJudgedAreNeitherPassesNorFailures) {
  // Everything with switch 1 on hangs the harness; the bug is elsewhere.
  const Space space = planted::two_valued(14);
  const Bug bug{{{4, 0}, {9, 0}}, "bug"};
  Program program({bug});
  SearchOptions options;
  options.exhaustive_limit = 1;
  std::size_t num_unresolved = 0;
  const SearchResult result = search(space, options, [&](std::span<const Assignment> batch) {
    std::vector<Trial> trials;
    for (const Assignment& assignment : batch) {
      const bool hangs = assignment[1] == 0;
      num_unresolved += hangs ? 1 : 0;
      trials.push_back(hangs ? Trial{} : program.run(assignment));
    }
    return trials;
  });
  EXPECT_GT(num_unresolved, 0U);
  ASSERT_EQ(result.combinations.size(), 1U);
  EXPECT_EQ(result.combinations[0].settings, bug.settings);
  // What was never judged is left out, not passed: switch 1 on, alone and with each other value.
  EXPECT_EQ(result.coverage[0].left_out, 1U);
  EXPECT_GE(result.coverage[1].left_out, 2U * 13U);
  EXPECT_FALSE(result.combinations[0].proven);  // support with switch 1 on can't be had
}

TEST(SearchErrorsTest, OccasionalHarnessTroubleIsRetried) {
  const Space space = planted::two_valued(14);
  const Bug bug{{{4, 0}, {9, 0}}, "bug"};
  Program program({bug});
  SearchOptions options;
  options.exhaustive_limit = 1;
  std::size_t num_requests = 0;
  const SearchResult result = search(space, options, [&](std::span<const Assignment> batch) {
    std::vector<Trial> trials;
    for (const Assignment& assignment : batch) {
      trials.push_back(++num_requests % 5 == 0 ? Trial{} : program.run(assignment));
    }
    return trials;
  });
  ASSERT_EQ(result.combinations.size(), 1U);
  EXPECT_EQ(certificate_violation(space, result.combinations[0], {bug}), "");
  for (const StrengthCoverage& coverage : result.coverage) EXPECT_EQ(coverage.left_out, 0U);
}

TEST(SearchErrorsTest, ForbiddenAllFirstRunIsANotice) {
  Space space = planted::two_valued(5);
  space.constraints.push_back({{{0, 0}, {1, 0}}, "0 excludes 1"});
  Program program({});
  const SearchResult result = search(space, {}, program.evaluator());
  ASSERT_EQ(result.notices.size(), 1U);
  EXPECT_EQ(result.notices[0], "the constraints forbid the all-first run");
}

}  // namespace
}  // namespace culprit
