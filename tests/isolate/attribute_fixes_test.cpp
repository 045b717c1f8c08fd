// Each verdict on a fix, and which pairs are tried.
#include "isolate/attribute_fixes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace culprit {
namespace {

const Assignment kFailsA = {0, 1};
const Assignment kFailsB = {1, 0};
const Assignment kPasses = {1, 1};

FixObservation pass() { return {{Trial::Status::kPass, ""}, false, true}; }
FixObservation fail(const char* fingerprint = "bug", bool silent = false) {
  return {{Trial::Status::kFail, fingerprint}, silent, true};
}

using Fixes = std::vector<std::size_t>;
using Rule = std::function<FixObservation(const Assignment&, const Fixes&)>;

EvaluateFixes evaluator(const Rule& with_fixes, std::vector<FixRequest>* requests = nullptr) {
  return [=](std::span<const FixRequest> batch) {
    std::vector<FixObservation> trials;
    for (const FixRequest& request : batch) {
      if (requests != nullptr) requests->push_back(request);
      if (request.fixes.empty()) {
        trials.push_back(request.cell == kPasses ? pass() : fail());
      } else {
        trials.push_back(with_fixes(request.cell, request.fixes));
      }
    }
    return trials;
  };
}

FixVerdict verdict_of(const Rule& rule) {
  return attribute_fixes(1, {kFailsA, kFailsB}, {kPasses}, {}, evaluator(rule)).alone[0].verdict;
}

TEST(AttributeFixesTest, ClassifiesEveryVerdict) {
  EXPECT_EQ(verdict_of([](const Assignment&, const Fixes&) { return pass(); }),
            FixVerdict::kResolves);
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              return cell == kFailsB ? fail() : pass();
            }),
            FixVerdict::kResolvesSome);
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              return cell == kPasses ? pass() : fail();
            }),
            FixVerdict::kNoEffect);
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              return cell == kPasses ? fail() : pass();
            }),
            FixVerdict::kBreaksSomething);
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              return cell == kFailsB ? fail("wrong value", true) : pass();
            }),
            FixVerdict::kTurnsErrorSilent);
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              return cell == kPasses ? pass() : fail("other");
            }),
            FixVerdict::kFailsDifferently);
  EXPECT_EQ(verdict_of([](const Assignment&, const Fixes&) {
              FixObservation trial;
              trial.applicable = false;
              return trial;
            }),
            FixVerdict::kNotApplicable);
  EXPECT_EQ(verdict_of([](const Assignment&, const Fixes&) { return FixObservation{}; }),
            FixVerdict::kUnresolved);
}

TEST(AttributeFixesTest, FailureThatWasSilentBeforeIsNotTurnedSilent) {
  const FixResult result =
      attribute_fixes(1, {kFailsA}, {}, {}, [](std::span<const FixRequest> batch) {
        return std::vector<FixObservation>(batch.size(), fail("wrong value", true));
      });
  EXPECT_EQ(result.alone[0].verdict, FixVerdict::kNoEffect);
}

TEST(AttributeFixesTest, ResolvesAllCellsThatItAppliesTo) {
  EXPECT_EQ(verdict_of([](const Assignment& cell, const Fixes&) {
              FixObservation trial = pass();
              trial.applicable = cell != kFailsB;
              return trial;
            }),
            FixVerdict::kResolves);
}

TEST(AttributeFixesTest, NoPairsWhereOneFixSufficesForEachCell) {
  std::vector<FixRequest> requests;
  const FixResult result =
      attribute_fixes(2, {kFailsA, kFailsB}, {kPasses}, {},
                      evaluator(
                          [](const Assignment& cell, const Fixes& fixes) {
                            const bool resolves = cell == kPasses ||
                                                  (cell == kFailsA ? fixes[0] == 0 : fixes[0] == 1);
                            return resolves ? pass() : fail();
                          },
                          &requests));
  EXPECT_TRUE(result.pairs.empty());
  EXPECT_TRUE(result.unresolved_cells.empty());
  EXPECT_EQ(requests.size(), 9U);  // three cells without and with each fix
  EXPECT_EQ(result.trials, 9U);
}

TEST(AttributeFixesTest, PairsOnlyWhereNoneSufficesAlone) {
  // A: fix 2 suffices. B: only 0 and 1 together.
  std::vector<FixRequest> requests;
  const FixResult result = attribute_fixes(3, {kFailsA, kFailsB}, {kPasses}, {},
                                           evaluator(
                                               [](const Assignment& cell, const Fixes& fixes) {
                                                 if (cell == kPasses) return pass();
                                                 if (cell == kFailsA)
                                                   return fixes.back() == 2 ? pass() : fail();
                                                 return fixes == Fixes{0, 1} ? pass() : fail();
                                               },
                                               &requests));
  ASSERT_EQ(result.pairs.size(), 1U);
  EXPECT_EQ(result.pairs[0].fixes, (Fixes{0, 1}));
  EXPECT_EQ(result.pairs[0].verdict, FixVerdict::kResolvesSome);
  EXPECT_EQ(result.pairs[0].effects.size(), 3U);
  EXPECT_TRUE(result.unresolved_cells.empty());
  const auto pairs_at_a = std::count_if(
      requests.begin(), requests.end(),
      [](const FixRequest& one) { return one.fixes.size() == 2 && one.cell == kFailsA; });
  EXPECT_EQ(pairs_at_a, 1);  // only the pair that helped at B is run there
}

TEST(AttributeFixesTest, FixThatBreaksAPassingCellDoesNotSuffice) {
  const FixResult result = attribute_fixes(
      2, {kFailsA}, {kPasses}, {}, evaluator([](const Assignment& cell, const Fixes& fixes) {
        if (fixes.size() == 2) return pass();
        if (fixes[0] == 1) return cell == kPasses ? pass() : fail();
        return cell == kPasses ? fail() : pass();
      }));
  EXPECT_EQ(result.alone[0].verdict, FixVerdict::kBreaksSomething);
  ASSERT_EQ(result.pairs.size(), 1U);
  EXPECT_EQ(result.pairs[0].verdict, FixVerdict::kResolves);
}

TEST(AttributeFixesTest, CellsThatNothingResolvesAreListed) {
  const FixResult result = attribute_fixes(2, {kFailsA, kFailsB}, {}, {},
                                           evaluator([](const Assignment& cell, const Fixes&) {
                                             return cell == kFailsA ? pass() : fail();
                                           }));
  EXPECT_EQ(result.unresolved_cells, (std::vector<std::size_t>{1}));
}

TEST(AttributeFixesTest, OneFailureAmongTheRepeatsCounts) {
  FixOptions options;
  options.repeats = 4;
  std::size_t num_requests = 0;
  const FixResult result =
      attribute_fixes(1, {kFailsA}, {}, options, evaluator([&](const Assignment&, const Fixes&) {
                        return ++num_requests == 3 ? fail() : pass();
                      }));
  EXPECT_EQ(num_requests, 4U);
  EXPECT_EQ(result.alone[0].verdict, FixVerdict::kNoEffect);
}

TEST(AttributeFixesTest, StopsWhenTheEvaluatorReturnsLess) {
  std::size_t num_batches = 0;
  const FixResult result =
      attribute_fixes(3, {kFailsA}, {}, {}, [&](std::span<const FixRequest> batch) {
        return std::vector<FixObservation>(++num_batches > 2 ? 0 : batch.size(), fail());
      });
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.alone.size(), 1U);
}

TEST(AttributeFixesTest, RefusesWrongInput) {
  const EvaluateFixes evaluate = evaluator([](const Assignment&, const Fixes&) { return pass(); });
  FixOptions none;
  none.repeats = 0;
  EXPECT_THROW(attribute_fixes(0, {kFailsA}, {}, {}, evaluate), UsageError);
  EXPECT_THROW(attribute_fixes(1, {}, {kPasses}, {}, evaluate), UsageError);
  EXPECT_THROW(attribute_fixes(1, {kFailsA}, {}, none, evaluate), UsageError);
  EXPECT_THROW(attribute_fixes(1, {kPasses}, {}, {}, evaluate), UsageError);  // does not fail
  EXPECT_THROW(attribute_fixes(1, {kFailsA}, {kFailsB}, {}, evaluate), UsageError);
}

}  // namespace
}  // namespace culprit
