// The contract of every backend: what each operation gives, in every type, against float64.
#include <cmath>
#include <random>

#include "comm/runtimes.hpp"

namespace culprit::test {
namespace {

class BackendContractTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) backend = GetParam().runtime().make_backend(0, GetParam().dtype);
  }
  DType dtype() const { return GetParam().dtype; }
  // Values that the type holds exactly.
  Floats random_values(std::int64_t count) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    Floats values(static_cast<std::size_t>(count));
    for (float& value : values) value = rounded(dtype(), uniform(random_));
    return values;
  }
  // One rounding of the result, and the sum's own in float32.
  void expect_near(const Floats& got, const std::vector<double>& expected, double summands) {
    ASSERT_EQ(got.size(), expected.size());
    double worst = 0.0, largest = 1.0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
    EXPECT_LE(worst,
              largest * (unit_roundoff(dtype()) + summands * unit_roundoff(DType::kFloat32)));
  }
  Floats result_of(std::int64_t count, const std::function<void(std::byte*)>& write) {
    const DeviceValues c(*backend,
                         Floats(static_cast<std::size_t>(count), 77.0F));  // to be written over
    write(c.data());
    return c.to_host();
  }

  std::unique_ptr<Backend> backend;
  std::mt19937 random_{20261130};
};

TEST_P(BackendContractTest, MatmulInAllFourTranspositions) {
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {3, 8, 8}, {5, 7, 11}, {1, 33, 64}, {64, 48, 1}, {67, 130, 129}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        const Floats a = random_values(m * k), b = random_values(k * n);
        std::vector<double> expected(static_cast<std::size_t>(m * n));
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l)
              expected[i * n + j] += static_cast<double>(a[transpose_a ? l * m + i : i * k + l]) *
                                     static_cast<double>(b[transpose_b ? j * k + l : l * n + j]);
        const DeviceValues x(*backend, a), y(*backend, b);
        const Floats got = result_of(m * n, [&](std::byte* c) {
          backend->matmul(x.data(), transpose_a, y.data(), transpose_b, c, m, n, k);
        });
        SCOPED_TRACE(std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k));
        expect_near(got, expected, 2.0 * k);
      }
}

TEST_P(BackendContractTest, MatmulAccumulatesInFloat32) {
  // 4096 x 2^-6 x 2^-6 on top of 64: in a two-byte accumulator the small products would be lost.
  constexpr int kSmall = 4096;
  Floats a(kSmall + 1, 0x1p-6F), b(kSmall + 1, 0x1p-6F);
  a[0] = b[0] = 8.0F;
  const DeviceValues x(*backend, a), y(*backend, b);
  const Floats got = result_of(1, [&](std::byte* c) {
    backend->matmul(x.data(), false, y.data(), false, c, 1, 1, kSmall + 1);
  });
  EXPECT_EQ(got[0], 65.0F);
}

TEST_P(BackendContractTest, Float32ProductsKeepAllBitsOfTheirFactors) {
  if (dtype() != DType::kFloat32)
    return;  // a matter of float32 alone: narrower multipliers keep 10 bits
  const Floats a{1.0F + 0x1p-20F}, b{1.0F};
  const DeviceValues x(*backend, a), y(*backend, b);
  EXPECT_EQ(
      result_of(
          1, [&](std::byte* c) { backend->matmul(x.data(), false, y.data(), false, c, 1, 1, 1); }),
      a);
}

TEST_P(BackendContractTest, ElementwiseOperationsInPlaceAndNot) {
  for (const std::int64_t count : {1, 7, 24, 1025, 70'001}) {
    const Floats a = random_values(count), b = random_values(count);
    std::vector<double> sum, scaled, product;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum.push_back(1.5 * static_cast<double>(a[i]) - 0.5 * static_cast<double>(b[i]));
      scaled.push_back(-3.0 * static_cast<double>(a[i]));
      product.push_back(2.0 * static_cast<double>(a[i]) * static_cast<double>(b[i]));
    }
    const DeviceValues x(*backend, a), y(*backend, b);
    expect_near(
        result_of(count,
                  [&](std::byte* c) { backend->add(1.5F, x.data(), -0.5F, y.data(), c, count); }),
        sum, 3);
    expect_near(result_of(count, [&](std::byte* c) { backend->scale(-3.0F, x.data(), c, count); }),
                scaled, 2);
    expect_near(
        result_of(count,
                  [&](std::byte* c) { backend->multiply(2.0F, x.data(), y.data(), c, count); }),
        product, 3);
    const DeviceValues in_place(*backend, a);
    backend->add(1.5F, in_place.data(), -0.5F, y.data(), in_place.data(), count);
    expect_near(in_place.to_host(), sum, 3);
    EXPECT_EQ(x.to_host(), a);
  }
}

TEST_P(BackendContractTest, FillSumAndSpread) {
  for (const std::int64_t count : {1, 24, 1025, 70'001}) {
    EXPECT_EQ(result_of(count, [&](std::byte* c) { backend->fill(0.75F, c, count); }),
              Floats(static_cast<std::size_t>(count), 0.75F));
    const Floats a = random_values(count);
    double total = 0.0, largest = 0.0;
    for (const float value : a) {
      total += static_cast<double>(value);
      largest += std::abs(static_cast<double>(value));
    }
    const auto divisor = static_cast<float>(count);
    const DeviceValues x(*backend, a);
    const Floats mean =
        result_of(1, [&](std::byte* c) { backend->sum(x.data(), divisor, c, count); });
    EXPECT_NEAR(static_cast<double>(mean[0]), total / static_cast<double>(count),
                unit_roundoff(dtype()) + largest * unit_roundoff(DType::kFloat32));
    const DeviceValues one(*backend, {3.0F});
    EXPECT_EQ(result_of(count, [&](std::byte* c) { backend->spread(one.data(), 4.0F, c, count); }),
              Floats(static_cast<std::size_t>(count), 0.75F));
  }
}

TEST_P(BackendContractTest, ColumnsAreSlicedAndPlaced) {
  constexpr std::int64_t kRows = 5, kWide = 12, kFirst = 3, kCols = 4;
  const Floats wide = random_values(kRows * kWide), narrow = random_values(kRows * kCols);
  const DeviceValues w(*backend, wide), s(*backend, narrow);
  const Floats slice = result_of(kRows * kCols, [&](std::byte* c) {
    backend->slice_columns(w.data(), kWide, kFirst, c, kRows, kCols);
  });
  backend->place_columns(s.data(), kCols, w.data(), kWide, kFirst, kRows);
  const Floats placed = w.to_host();
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kWide; ++c) {
      const bool inside = c >= kFirst && c < kFirst + kCols;
      if (inside) {
        EXPECT_EQ(slice[r * kCols + c - kFirst], wide[r * kWide + c]);
      }
      EXPECT_EQ(placed[r * kWide + c],
                inside ? narrow[r * kCols + c - kFirst] : wide[r * kWide + c]);
    }
}

TEST_P(BackendContractTest, UploadRoundsToTheTypeOnce) {
  const Floats values{1.0F + 0x1p-9F, 1.0F + 0x1p-13F, 1.0F / 3.0F, -70000.0F, 1e-7F, 0.0F};
  Floats expected;
  for (const float value : values) expected.push_back(rounded(dtype(), value));
  EXPECT_EQ(DeviceValues(*backend, values).to_host(), expected);
}

TEST_P(BackendContractTest, ParcelHoldsTheValuesAsTheyWere) {
  const Floats values = random_values(1000);
  std::unique_ptr<Parcel> parcel;
  {
    const DeviceValues source(*backend, values);
    parcel = backend->pack(source.data(), 1000);
    backend->fill(5.0F, source.data(), 1000);
  }
  EXPECT_EQ(result_of(1000, [&](std::byte* c) { backend->unpack(*parcel, c, 1000); }), values);
}

TEST_P(BackendContractTest, CountersTellLivePeakAndCopiedBytes) {
  const auto element = static_cast<std::int64_t>(size_of(dtype()));
  const MemoryCounters& counters = backend->counters();
  {
    const DeviceValues a(*backend, Floats(10)), b(*backend, Floats(10));
    backend->copy(a.data(), b.data(), 10);
    backend->scale(1.0F, a.data(), b.data(), 10);
    EXPECT_EQ(counters.live_bytes, 20 * element);
  }
  EXPECT_EQ(counters.live_bytes, 0);
  EXPECT_EQ(counters.peak_bytes, 20 * element);
  EXPECT_EQ(counters.copied_bytes, 10 * element);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, BackendContractTest, ::testing::ValuesIn(runtimes_under_test()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace culprit::test
