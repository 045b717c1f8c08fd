// The two-byte types, against their definitions in float64.
#include "tensor/dtype.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace culprit {
namespace {

// `value` to `significand` bits, not finer than `least_step`, ties to even (std::nearbyint's
// default), infinite from `limit` on.
double by_definition(double value, int significand, double least_step, double limit) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  const double step = std::max(std::ldexp(1.0, std::ilogb(value) + 1 - significand), least_step);
  const double rounded = std::nearbyint(value / step) * step;
  return std::abs(rounded) >= limit ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                    : rounded;
}
double float16_by_definition(double value) { return by_definition(value, 11, 0x1p-24, 65536.0); }
double bfloat16_by_definition(double value) { return by_definition(value, 8, 0x1p-133, 0x1p128); }

TEST(DTypeTest, EveryTwoByteNumberSurvivesTheWayToFloat32AndBack) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float narrow = float16_value(half), wide = bfloat16_value(half);
    EXPECT_TRUE(std::isnan(narrow) ? std::isnan(rounded(DType::kFloat16, narrow))
                                   : float16_bits(narrow) == half)
        << bits;
    EXPECT_TRUE(std::isnan(wide) ? std::isnan(rounded(DType::kBFloat16, wide))
                                 : bfloat16_bits(wide) == half)
        << bits;
  }
}

TEST(DTypeTest, MidpointsGoToTheEvenNeighbourAndTheirNeighboursToTheNearer) {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = float16_value(static_cast<std::uint16_t>(bits)),
                high = float16_value(static_cast<std::uint16_t>(bits + 1));
    const float middle = low / 2 + high / 2;
    EXPECT_EQ(float16_bits(middle), bits % 2 == 0 ? bits : bits + 1);
    EXPECT_EQ(float16_bits(std::nextafter(middle, 0.0F)), bits);
    EXPECT_EQ(float16_bits(std::nextafter(middle, 1e9F)), bits + 1);
    EXPECT_EQ(float16_bits(-middle), 0x8000U | (bits % 2 == 0 ? bits : bits + 1));
  }
}

TEST(DTypeTest, RandomNumbersAreRoundedByTheDefinition) {
  std::mt19937 random(20261130);
  for (int i = 0; i < 2'000'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<double>(rounded(DType::kFloat16, value)),
              float16_by_definition(static_cast<double>(value)))
        << value;
    ASSERT_EQ(static_cast<double>(rounded(DType::kBFloat16, value)),
              bfloat16_by_definition(static_cast<double>(value)))
        << value;
  }
}

TEST(DTypeTest, WhatIsTooLargeBecomesInfiniteAndNanStays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(DType::kFloat16, 65519.0F), 65504.0F);
  EXPECT_EQ(rounded(DType::kFloat16, 65520.0F), kInfinity);
  EXPECT_EQ(rounded(DType::kFloat16, -1e30F), -kInfinity);
  EXPECT_EQ(rounded(DType::kBFloat16, std::numeric_limits<float>::max()), kInfinity);
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(rounded(dtype, kInfinity), kInfinity);
    EXPECT_TRUE(std::isnan(rounded(dtype, std::numeric_limits<float>::quiet_NaN())));
    EXPECT_TRUE(std::isnan(
        rounded(dtype, std::bit_cast<float>(0x7f800001U))));  // its top bits alone are infinity's
  }
}

TEST(DTypeTest, UnitRoundoffIsHalfTheStepAboveOne) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const auto step = static_cast<float>(2.0 * unit_roundoff(dtype));
    EXPECT_EQ(rounded(dtype, 1.0F + step), 1.0F + step);
    EXPECT_EQ(rounded(dtype, 1.0F + step / 2), 1.0F);
  }
}

}  // namespace
}  // namespace culprit
