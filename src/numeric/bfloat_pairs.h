// Words of two bf16 and their products, as processors' instructions for these make them (Intel's
// manual, VDPBF16PS and VCVTNE2PS2BF16; a Zen 4 gives the same bits): the second numbers are
// multiplied first, each product is added by itself, and subnormal numbers and sums are zeros.
#pragma once

#include "numeric/half.h"

#include <cmath>
#include <limits>

namespace sinter {

inline float withoutSubnormals(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0F, value) : value;
}

/// The numbers rounded to nearest, ties to even; the first in the low half.
inline uint32_t bfloatPair(float first, float second) {
  return f32ToBf16(withoutSubnormals(first)) |
         static_cast<uint32_t>(f32ToBf16(withoutSubnormals(second))) << 16;
}

// a b + sum, zero where its magnitude is below the least normal number once it is rounded as if
// exponents had no end: a product rounded among subnormal numbers can reach that number from below.
inline float addBfloatProduct(float a, float b, float sum) {
  const float result = std::fma(a, b, sum);
  if (std::fabs(result) > 2 * std::numeric_limits<float>::min() || result == 0)
    return result;
  const double exact = std::fma(static_cast<double>(a), static_cast<double>(b), sum);
  const auto scaled = static_cast<float>(std::fabs(exact) * 0x1p64);
  return scaled < std::numeric_limits<float>::min() * 0x1p64F ? std::copysign(0.0F, result)
                                                              : result;
}

/// sum + a[1] b[1], then + a[0] b[0].
inline float addBfloatPair(uint32_t a, uint32_t b, float sum) {
  sum = withoutSubnormals(sum);
  auto number = [](uint32_t half) {
    return withoutSubnormals(bf16ToF32(static_cast<uint16_t>(half)));
  };
  sum = addBfloatProduct(number(a >> 16), number(b >> 16), sum);
  return addBfloatProduct(number(a), number(b), sum);
}

} // namespace sinter
