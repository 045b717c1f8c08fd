// Minimal failing combinations of a matrix with made-up outcomes, and what a fix did to a cell.
#include "matrix/minimal.hpp"

#include "gtest/gtest.h"
#include "matrix/fixes.hpp"

namespace culprit {
namespace {

Outcome made(OutcomeClass outcome, const std::string& kind = "", double worst = 0.0) {
  Outcome result;
  result.outcome = outcome;
  result.kind = kind;
  if (worst != 0.0) {
    result.worst = worst;
    result.checksums = {{"embed@0.0", worst}};
  }
  return result;
}

class MinimalTest : public testing::Test {
 protected:
  MinimalTest() {
    scenario_.toggles = {"identity", "first_op", "residual"};
    scenario_.claim = {{"identity", "skip"}};
    matrix_ = make_matrix(scenario_, Cell{}, false);
    outcomes_.resize(matrix_.choices.size());
  }
  std::size_t index_of(const std::string& label) const {
    for (std::size_t i = 0; i < matrix_.choices.size(); ++i)
      if (label_of(matrix_, matrix_.choices[i]) == label) return i;
    ADD_FAILURE() << label;
    return 0;
  }
  void comes_to(const std::string& label, const Outcome& outcome) { outcomes_[index_of(label)] = outcome; }
  std::vector<std::string> minimal() const {
    std::vector<std::string> found;
    for (const std::size_t index : minimal_failures(matrix_, outcomes_))
      found.push_back(label_of(matrix_, matrix_.choices[index]));
    return found;
  }

  Scenario scenario_;
  Matrix matrix_;
  std::vector<Outcome> outcomes_;
};

TEST_F(MinimalTest, NothingFails) { EXPECT_TRUE(minimal().empty()); }
TEST_F(MinimalTest, LargerCombinationsOfAFailingOneAreNotMinimal) {
  comes_to("skip_c_identity + residual", made(OutcomeClass::kError, "LEAF_INPLACE"));
  comes_to("skip_c_identity + operator before + residual", made(OutcomeClass::kError, "LEAF_INPLACE"));
  EXPECT_EQ(minimal(), std::vector<std::string>{"skip_c_identity + residual"});
}
TEST_F(MinimalTest, SilentOnesStandFirstWhateverTheirSize) {
  comes_to("residual", made(OutcomeClass::kError, "LEAF_INPLACE"));
  comes_to("skip_c_identity + operator before", made(OutcomeClass::kWrongGrad, "", 2.0));
  EXPECT_EQ(minimal(), (std::vector<std::string>{"skip_c_identity + operator before", "residual"}));
}
TEST_F(MinimalTest, BaseThatFailsIsMinimalAlone) {
  for (Outcome& outcome : outcomes_) outcome = made(OutcomeClass::kHang);
  EXPECT_EQ(minimal(), std::vector<std::string>{"base"});
}
TEST_F(MinimalTest, DeclaredAndFoundAreCompared) {
  scenario_.minimal = {{.switches = {{"identity", "skip"}, {"residual", "1"}},
                        .outcome = OutcomeClass::kError,
                        .kind = "LEAF_INPLACE",
                        .phase = "forward"}};
  Outcome found = made(OutcomeClass::kError, "LEAF_INPLACE");
  found.first = Place{.stage = 0, .ranks = "0", .micro_batch = 0, .phase = "forward", .tensor = ""};
  comes_to("skip_c_identity + residual", found);
  comes_to("skip_c_identity + operator before + residual", found);
  const auto differences = [&] {
    return differences_from_declared(scenario_, matrix_, outcomes_, minimal_failures(matrix_, outcomes_));
  };
  EXPECT_TRUE(differences().empty());
  scenario_.minimal[0].kind = "GRAPH_FREED";
  EXPECT_FALSE(differences().empty());
  scenario_.minimal[0].kind = "LEAF_INPLACE";
  comes_to("operator before", found);
  EXPECT_FALSE(differences().empty());
}

TEST(ClassifyFixTest, EveryEffectIsTold) {
  const Outcome error = made(OutcomeClass::kError, "LEAF_INPLACE");
  const Outcome wrong = made(OutcomeClass::kWrongGrad, "", 2.27);
  EXPECT_EQ(classify_fix(error, made(OutcomeClass::kPass)), FixEffect::kClears);
  EXPECT_EQ(classify_fix(error, error), FixEffect::kNoEffect);
  EXPECT_EQ(classify_fix(error, made(OutcomeClass::kError, "GRAPH_FREED")), FixEffect::kFailsDifferently);
  EXPECT_EQ(classify_fix(error, wrong), FixEffect::kTurnsSilent);
  EXPECT_EQ(classify_fix(wrong, wrong), FixEffect::kNoEffect);
  EXPECT_EQ(classify_fix(wrong, made(OutcomeClass::kWrongGrad, "", 2.06)), FixEffect::kStillWrong);
  EXPECT_EQ(classify_fix(wrong, error), FixEffect::kFailsDifferently);
}
TEST(ApplyFixTest, AFixThatChangesNothingOrIsImpossibleDoesNotApply) {
  const auto fix_named = [](const std::string& name) -> const Fix& {
    for (const Fix& fix : candidate_fixes())
      if (fix.name == name) return fix;
    throw std::out_of_range(name);
  };
  Cell cell;
  EXPECT_FALSE(apply_fix(fix_named("copy"), cell).applies);
  EXPECT_FALSE(apply_fix(fix_named("other recompute kind"), cell).applies);
  cell.identity = IdentityVariant::kSkip;
  EXPECT_TRUE(apply_fix(fix_named("copy"), cell).applies);
  cell.recompute = RecomputeKind::kReentrant;
  EXPECT_EQ(apply_fix(fix_named("other recompute kind"), cell).cell.recompute, RecomputeKind::kNonReentrant);
  EXPECT_TRUE(apply_fix(fix_named("mark_not_inplace"), cell).applies);
  cell.framework = "torch@2.15.0";
  EXPECT_FALSE(apply_fix(fix_named("mark_not_inplace"), cell).applies);
  EXPECT_TRUE(apply_fix(fix_named("view"), cell).applies);
}

}  // namespace
}  // namespace culprit
