// NCCL beyond the contracts: too few GPUs are refused in words, and jobs that two GPUs can run come
// out as on the CPU.
#include <memory>
#include <thread>
#include <vector>

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

// What recurs in the same memory on both is registered from the second time on; memory that meets
// other memory, or in other sizes, must not be taken for that.
TEST_F(NcclTest, LargeSumsThatRecurStayRightWhateverMemoryMeets) {
  std::unique_ptr<World> world;
  try {
    world = nccl_runtime().make_world(2);
  } catch (const UnavailableError& error) {
    GTEST_SKIP() << error.what();
  }
  constexpr std::int64_t kCount = (8 << 20) / 2;  // 8 MiB of float16
  const auto body = [&](int rank) {
    const auto backend = nccl_runtime().make_backend(rank, DType::kFloat16);
    const auto comm = world->group(0, {0, 1}, rank, *backend);
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(backend->allocate(kCount));
    int wrong = 0;
    const auto sum = [&](std::byte* block, std::int64_t count) {
      backend->fill(static_cast<float>(rank + 1), block, count);
      comm->start_all_reduce({block, count}, "sum")->wait();
      std::vector<float> values(static_cast<std::size_t>(count));
      backend->download(block, values);
      for (const float value : values) wrong += value != 3.0F;
    };
    for (int i = 0; i < 4; ++i) sum(blocks[0], kCount);                  // registered
    for (int i = 0; i < 3; ++i) sum(blocks[rank == 0 ? 0 : 1], kCount);  // one of the two is
    for (int i = 0; i < 3; ++i) sum(blocks[rank == 0 ? 2 : 0], kCount);  // the other is
    for (int i = 0; i < 3; ++i) sum(blocks[1], kCount);
    for (int i = 0; i < 3; ++i) sum(blocks[0], kCount - 100);
    for (int i = 0; i < 3; ++i) sum(blocks[0], kCount);
    EXPECT_EQ(wrong, 0) << "rank " << rank;
    for (std::byte* block : blocks) backend->deallocate(block, kCount);
    world->finished(rank);
  };
  std::jthread other(body, 1);
  body(0);
}

TEST(NcclRefusalTest, WithoutACudaDeviceItIsAMistakeOfTheCaller) {
  EXPECT_THROW(open_runtime({.device = "cpu", .comm = "nccl"}), UsageError);
}

}  // namespace
}  // namespace culprit::test
