// What ranks' results come to: precedence, bounds, who is named.
#include "outcome/judge.hpp"

#include <cmath>
#include <limits>

#include "engine/run_cell.hpp"
#include "gtest/gtest.h"
#include "outcome/tolerance.hpp"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

class JudgeTest : public ::testing::Test {
 protected:
  Cell cell = cell_of({{"tp", "2"}, {"pp", "2"}});
  Reference reference = make_reference(stack(), cell, /*keep_all=*/false);
  std::vector<RankResult> results = run_cell(stack(), cell);

  Outcome judged() const { return judge(cell, results, reference); }
  RankError error(RankError::Class error_class, const std::string& kind) const {
    return {.error_class = error_class,
            .kind = kind,
            .message = "",
            .phase = {Phase::Pass::kBackward, 1},
            .in_recompute = false};
  }
  ParameterGrad& embed() { return results[0].grads[0]; }
};

TEST(ToleranceTest, Float32HasTheRecordedBoundsAndHalfTypesAreNoStricter) {
  Cell cell = cell_of({{"blocks", "2"}});
  EXPECT_EQ(tolerance_for(cell).grad, 1e-3);
  EXPECT_EQ(tolerance_for(cell).loss, 1e-4);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    cell.dtype = dtype;
    EXPECT_GT(tolerance_for(cell).grad, 1e-3);
  }
}

TEST_F(JudgeTest, UntouchedResultsPass) {
  EXPECT_EQ(name_of(judged()), "PASS");
  EXPECT_EQ(judged().where, "");
  EXPECT_EQ(fingerprint(judged()), "");
}

TEST_F(JudgeTest, GradientAboveTheBoundIsWrongAndBelowIsNot) {
  const auto& whole = reference.grads.at("embed").back();
  double largest = 0.0;
  for (const double g : whole) largest = std::max(largest, std::abs(g));
  const double bound = tolerance_for(cell).grad;
  const float kept = (*embed().grad)[5];
  (*embed().grad)[5] = kept + static_cast<float>(0.5 * bound * largest);
  EXPECT_EQ(name_of(judged()), "PASS");
  (*embed().grad)[5] = kept + static_cast<float>(2.0 * bound * largest);
  EXPECT_EQ(name_of(judged()), "WRONG_GRAD");
  EXPECT_EQ(judged().where, "embed@stage0.tp0");
  EXPECT_EQ(fingerprint(judged()).substr(0, 10), "WRONG_GRAD");
}

TEST_F(JudgeTest, LossAboveTheBoundOnAnyRankOfTheLastStageIsWrong) {
  const double bound =
      tolerance_for(cell).loss;  // the loss is below 1, where the bound is absolute
  for (const std::size_t rank : {2U, 3U}) {
    const double kept = results[rank].loss;
    results[rank].loss = kept + 0.5 * bound;
    EXPECT_EQ(name_of(judged()), "PASS") << rank;
    results[rank].loss = kept + 2.0 * bound;
    EXPECT_EQ(name_of(judged()), "WRONG_LOSS") << rank;
    results[rank].loss = kept;
  }
}

TEST_F(JudgeTest, NanIsWrong) {
  (*embed().grad)[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(name_of(judged()), "WRONG_GRAD");
  EXPECT_EQ(judged().where, "embed@stage0.tp0");
  results[2].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(name_of(judged()), "WRONG_LOSS");
}

TEST_F(JudgeTest, MissingComesBeforeWrongAndLossBeforeBoth) {
  (*results[1].grads[0].grad)[0] += 1.0F;
  EXPECT_EQ(name_of(judged()), "WRONG_GRAD");
  embed().grad.reset();
  EXPECT_EQ(name_of(judged()), "MISSING_GRAD");
  EXPECT_EQ(judged().where, "embed@stage0.tp0");
  results[2].loss += 1e-3;
  EXPECT_EQ(name_of(judged()), "WRONG_LOSS");
}

TEST_F(JudgeTest, FrozenParameterMayLackItsGradient) {
  embed().spec.trainable = false;
  embed().grad.reset();
  EXPECT_EQ(name_of(judged()), "PASS");
}

TEST_F(JudgeTest, RanksThatOnlyLostAPeerAreNotNamed) {
  results[0].error = error(RankError::Class::kPeerLost, "PEER_LOST");
  results[2].error = error(RankError::Class::kError, "LEAF_INPLACE");
  results[3].error = error(RankError::Class::kError, "LEAF_INPLACE");
  const Outcome outcome = judged();
  EXPECT_EQ(name_of(outcome), "ERROR");
  EXPECT_EQ(outcome.kind, "LEAF_INPLACE");
  EXPECT_EQ(outcome.where, "stage1.tp0:backward 1;stage1.tp1:backward 1");
  ASSERT_TRUE(outcome.first);
  EXPECT_EQ(outcome.first->ranks, "0,1");
  EXPECT_FALSE(outcome.loss);
  EXPECT_FALSE(outcome.freed);
}

TEST_F(JudgeTest, FirstRankWithAnErrorOfItsOwnDecides) {
  results[1].error = error(RankError::Class::kCrash, "SIGSEGV");
  results[2].error = error(RankError::Class::kHang, "HANG");
  EXPECT_EQ(name_of(judged()), "CRASH");
  results[1].error = error(RankError::Class::kPeerLost, "PEER_LOST");
  EXPECT_EQ(name_of(judged()), "HANG");
}

TEST_F(JudgeTest, RecomputeIsAPhaseOfItsOwnInTheFingerprint) {
  results[2].error = error(RankError::Class::kError, "LEAF_INPLACE");
  const std::string plain = fingerprint(judged());
  results[2].error->in_recompute = true;
  EXPECT_NE(fingerprint(judged()), plain);
  EXPECT_EQ(fingerprint(judged()), "ERROR:LEAF_INPLACE@recompute");
  EXPECT_EQ(judged().where, "stage1.tp0:backward 1");  // as the recorded facts have it
}

}  // namespace
}  // namespace culprit::test
