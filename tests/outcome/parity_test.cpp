// Engine against reference at every layout of ranks: where nothing is broken, gradients and loss
// agree.
#include "gtest/gtest.h"
#include "support/cells.hpp"

namespace culprit::test {
namespace {

// float32 against float64 over at most 8 blocks of 16 features: rounding stays some ten ulp of the
// largest entry.
constexpr double kRounding = 2e-5;

void expect_parity(const Settings& settings) {
  const Outcome outcome = outcome_of(settings);
  std::string text;
  for (const auto& [name, value] : settings) text += name + "=" + value + " ";
  EXPECT_EQ(name_of(outcome), "PASS") << text << outcome.kind << " " << outcome.where;
  EXPECT_LT(outcome.worst.value_or(1.0), kRounding) << text << outcome.worst_parameter;
}

class ParityTest : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(ParityTest, EngineAgreesWithTheReference) {
  const auto [tp, pp] = GetParam();
  const Settings layout{{"tp", std::to_string(tp)}, {"pp", std::to_string(pp)}};
  for (const Settings& more : std::vector<Settings>{
           {},
           {{"tokens", "7"}, {"residual", "1"}, {"fan_out", "2"}},
           {{"tail", "gather"}, {"first_op", "scale"}, {"acc", "1"}},
           {{"recompute", "reentrant"}, {"residual", "1"}, {"hidden", "16"}},
           {{"recompute", "nonreentrant"}, {"acc", "5"}, {"blocks", std::to_string(2 * pp)}}}) {
    Settings settings = layout;
    settings.insert(settings.end(), more.begin(), more.end());
    expect_parity(settings);
    if (tp == 1) continue;
    settings.emplace_back("identity", "view");
    expect_parity(settings);
    settings.back().second = "copy";
    settings.emplace_back("path", "overlap");
    expect_parity(settings);
  }
}
INSTANTIATE_TEST_SUITE_P(Layouts, ParityTest,
                         ::testing::Combine(::testing::Values(1, 2, 4, 8), ::testing::Range(1, 9)),
                         [](const auto& instance) {
                           return "Tp" + std::to_string(std::get<0>(instance.param)) + "Pp" +
                                  std::to_string(std::get<1>(instance.param));
                         });

TEST(StackParityTest, FewerMicroBatchesThanStages) {
  for (const char* acc : {"1", "2", "3"})
    expect_parity({{"tp", "2"}, {"pp", "6"}, {"acc", acc}, {"release", "1"}});
}

TEST(StackParityTest, LossScaleAndDelayedDivisionChangeNoNumber) {
  for (const char* division : {"immediate", "delayed"})
    for (const char* scale : {"1", "1024", "0.5"})
      expect_parity({{"loss_scale", scale}, {"loss_division", division}, {"residual", "1"}});
}

TEST(StackParityTest, TwoByteTypesStayWithinTheirBounds) {
  for (const char* dtype : {"float16", "bfloat16"})
    for (const char* recompute : {"none", "reentrant", "nonreentrant"})
      for (const char* tail : {"row", "gather"})
        for (const char* residual : {"0", "1"}) {
          const Settings settings{
              {"dtype", dtype}, {"recompute", recompute}, {"tail", tail}, {"residual", residual}};
          const Outcome outcome = outcome_of(settings);
          EXPECT_EQ(name_of(outcome), "PASS")
              << dtype << recompute << tail << residual << outcome.where;
          // Rounded for real, not float32 under another name.
          EXPECT_GT(outcome.worst.value_or(0.0), unit_roundoff(DType::kFloat16) / 4.0);
        }
}

TEST(StackParityTest, TwoByteTypesTakeHalfTheBytes) {
  const Outcome wide = outcome_of({{"dtype", "float32"}}),
                narrow = outcome_of({{"dtype", "float16"}});
  EXPECT_EQ(wide.copied_bytes, 2 * narrow.copied_bytes);
  EXPECT_EQ(wide.peak_bytes, 2 * narrow.peak_bytes);
  EXPECT_EQ(wide.collective_bytes, 2 * narrow.collective_bytes);
}

TEST(StackParityTest, LossScaleKeepsSmallFloat16GradientsFromVanishing) {
  // Float16 has nothing below 2^-24: a loss scaled down so far loses all gradients, one scaled up
  // keeps them.
  EXPECT_EQ(name_of(outcome_of({{"dtype", "float16"}, {"loss_scale", "1e-7"}})), "WRONG_GRAD");
  EXPECT_EQ(name_of(outcome_of({{"dtype", "bfloat16"}, {"loss_scale", "1e-7"}})), "PASS");
  EXPECT_EQ(name_of(outcome_of({{"dtype", "float16"}, {"loss_scale", "1024"}})), "PASS");
  // ... and one scaled up too far overflows.
  EXPECT_EQ(name_of(outcome_of({{"dtype", "float16"}, {"loss_scale", "1e7"}})), "WRONG_GRAD");
}

TEST(StackParityTest, WrongGradientIsFoundWhereItFirstDeviates) {
  const Outcome outcome = outcome_of({{"pp", "1"}, {"identity", "skip"}, {"residual", "1"}});
  EXPECT_EQ(name_of(outcome), "WRONG_GRAD");
  ASSERT_TRUE(outcome.first);
  EXPECT_EQ(outcome.first->phase, "backward");
  EXPECT_EQ(outcome.first->micro_batch, 0);
  // Block 1's own weights are upstream of nothing wrong; what lies before block 1's input deviates.
  EXPECT_EQ(outcome.first->tensor, "row0");
}

}  // namespace
}  // namespace culprit::test
