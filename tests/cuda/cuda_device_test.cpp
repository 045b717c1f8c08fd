// The CUDA device beyond the contracts: memory that is reused, refused or shared between streams.
#include "cuda/cuda_runtime.hpp"
#include "support/rank_threads.hpp"

namespace culprit::test {
namespace {

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      backend = cuda_runtime().make_backend(0, DType::kFloat32);
    } catch (const UnavailableError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  std::unique_ptr<Backend> backend;
};

TEST_F(CudaDeviceTest, FreedMemoryIsGivenAgain) {
  std::byte* first = backend->allocate(1000);
  backend->deallocate(first, 1000);
  EXPECT_EQ(backend->allocate(1000), first);
  std::byte* second = backend->allocate(1000);
  EXPECT_NE(second, first);
  backend->deallocate(first, 1000);
  backend->deallocate(second, 1000);
}

TEST_F(CudaDeviceTest, TooMuchMemoryIsRefusedWithWhatWasAskedAndWhatIsFree) {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 40;
  try {
    backend->allocate(kTooMany);
    ADD_FAILURE() << "4 TiB were given";
  } catch (const UnavailableError& error) {
    EXPECT_NE(std::string(error.what()).find("asked for 4194304.0 MiB, free are"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(backend->counters().live_bytes, 0);
  const DeviceValues usable(*backend, {1.0F, 2.0F});  // a refusal breaks nothing
  EXPECT_EQ(usable.to_host(), (Floats{1.0F, 2.0F}));
}

TEST_F(CudaDeviceTest, MemoryOfAllSizesIsHeldApart) {
  std::vector<std::unique_ptr<DeviceValues>> held;
  for (int i = 0; i < 200; ++i)
    held.push_back(std::make_unique<DeviceValues>(
        *backend, Floats(static_cast<std::size_t>(1 + i * i * 7), static_cast<float>(i))));
  for (int i = 0; i < 200; ++i) {
    const Floats values = held[i]->to_host();
    EXPECT_EQ(values.front(), static_cast<float>(i));
    EXPECT_EQ(values.back(), static_cast<float>(i));
  }
}

TEST_F(CudaDeviceTest, ParcelsOfAnOtherStreamAreNotOverwrittenBeforeTheyAreRead) {
  // A pool that gave a block again too early would mix up values within a few rounds.
  constexpr int kRounds = 200, kElements = 1 << 20;
  const auto other = cuda_runtime().make_backend(1, DType::kFloat32);
  int wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const DeviceValues source(*backend, Floats(1)), target(*other, Floats(1));
    std::byte* from = backend->allocate(kElements);
    std::byte* to = other->allocate(kElements);
    backend->fill(static_cast<float>(round), from, kElements);
    const auto parcel = backend->pack(from, kElements);
    backend->fill(-1.0F, from, kElements);
    other->unpack(*parcel, to, kElements);
    other->sum(to, static_cast<float>(kElements), target.data(), kElements);
    wrong += target.to_host()[0] != static_cast<float>(round);
    backend->deallocate(from, kElements);
    other->deallocate(to, kElements);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CudaRefusalTest, DeviceThatIsNotThereIsUnavailableWithTheReason) {
  try {
    open_runtime({.device = "cuda:99"});
    ADD_FAILURE() << "100 GPUs?";
  } catch (const UnavailableError& error) {
    EXPECT_EQ(error.exit_status(), 77);
    EXPECT_EQ(std::string(error.what()).substr(0, 13), "--device cuda") << error.what();
  }
}

}  // namespace
}  // namespace culprit::test
