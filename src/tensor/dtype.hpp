// The types an element can have. One type a run: every tensor of every rank.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace culprit {

enum class DType { kFloat32, kFloat16, kBFloat16 };

constexpr std::size_t size_of(DType dtype) { return dtype == DType::kFloat32 ? 4 : 2; }
constexpr std::string_view name_of(DType dtype) {
  if (dtype == DType::kFloat32) return "float32";
  return dtype == DType::kFloat16 ? "float16" : "bfloat16";
}
// Largest relative error of rounding a number in the normal range to the type: 2^-(bits of the
// significand).
constexpr double unit_roundoff(DType dtype) {
  if (dtype == DType::kFloat32) return 0x1p-24;
  return dtype == DType::kFloat16 ? 0x1p-11 : 0x1p-8;
}

// To and from the bits of the two-byte types: to nearest, ties to even; what is too large becomes
// infinite.
inline std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U, magnitude = bits & 0x7fffffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U) {
    result = 0x7e00U;  // NaN
  } else if (magnitude >= 0x477ff000U) {
    result = 0x7c00U;  // 65520 and above
  } else if (magnitude < 0x38800000U) {
    // Below the normal range: 2^-24, the step there, is the step of float32 in [0.5, 1), so that an
    // addition rounds.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
             std::bit_cast<std::uint32_t>(0.5F);
  } else {
    result = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - 0x38000000U) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}
inline float float16_value(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16, magnitude = half & 0x7fffU;
  if (magnitude < 0x400U) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return sign ? -value : value;
  }
  const std::uint32_t special =
      magnitude >= 0x7c00U ? 0x38000000U : 0U;  // infinity and NaN keep the top exponent
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000U + special));
}
inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);  // NaN stays one
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// `value` as the type holds it.
inline float rounded(DType dtype, float value) {
  if (dtype == DType::kFloat32) return value;
  return dtype == DType::kFloat16 ? float16_value(float16_bits(value))
                                  : bfloat16_value(bfloat16_bits(value));
}

}  // namespace culprit
