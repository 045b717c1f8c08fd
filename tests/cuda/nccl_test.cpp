// NCCL beyond the contracts: too few GPUs are refused in words, and jobs that two GPUs can run come
// out as on the CPU.
#include "base/error.hpp"
#include "cuda/cuda_runtime.hpp"
#include "gtest/gtest.h"
#include "outcome/run_once.hpp"
#include "scenario/scenario.hpp"

namespace culprit::test {
namespace {

class NcclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      nccl_runtime();
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(NcclTest, TooFewGpusAreRefusedWithWhatWasFoundAndWhatRunsInstead) {
  try {
    nccl_runtime().make_world(64);
    GTEST_SKIP() << "64 GPUs are here";
  } catch (const UnavailableError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.substr(0, 28), "64 NCCL ranks need 64 GPUs, ") << text;
    EXPECT_NE(text.find(" found; --comm local runs 64 ranks on one GPU"), std::string::npos)
        << text;
  }
}

TEST_F(NcclTest, JobsOfTwoRanksComeOutAsOnTheCpu) {
  try {
    nccl_runtime().make_world(2);
  } catch (const UnavailableError& error) {
    GTEST_SKIP() << error.what();
  }
  const Scenario& scenario = scenario_named("skip_identity_leaf");
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16})
    for (const bool pipeline : {false, true})
      for (const RecomputeKind recompute :
           {RecomputeKind::kNone, RecomputeKind::kReentrant, RecomputeKind::kNonReentrant})
        for (const bool residual : {false, true})
          for (const auto& [identity, path] :
               {std::pair{IdentityVariant::kCopy, ColumnPath::kIdentity},
                {IdentityVariant::kSkip, ColumnPath::kIdentity},
                {IdentityVariant::kCopy, ColumnPath::kOverlap}}) {
            Cell cell;
            cell.tp = pipeline ? 1 : 2;
            cell.pp = pipeline ? 2 : 1;
            cell.dtype = dtype;
            cell.recompute = recompute;
            cell.residual = residual;
            if (!pipeline) {
              cell.identity = identity;
              cell.path = path;
            }
            const Outcome cpu = run_once(scenario.model, cell),
                          gpu = run_once(scenario.model, cell, {.runtime = &nccl_runtime()});
            std::string flags;
            for (const std::string& flag : to_flags(cell)) flags += flag + " ";
            EXPECT_EQ(fingerprint(cpu), fingerprint(gpu)) << flags;
            EXPECT_EQ(cpu.where, gpu.where) << flags;
          }
}

TEST(NcclRefusalTest, WithoutACudaDeviceItIsAMistakeOfTheCaller) {
  EXPECT_THROW(open_runtime({.device = "cpu", .comm = "nccl"}), UsageError);
}

}  // namespace
}  // namespace culprit::test
