// Words of two bf16 and their products, as processors' instructions for these make them (Intel's
// manual, VDPBF16PS and VCVTNE2PS2BF16; AMD's since Zen 4 give the same bits): the second numbers
// are multiplied first, each product is added by itself, and subnormal numbers and sums are zeros.
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

/// sum + a[1] b[1], then + a[0] b[0].
inline float addBfloatPair(uint32_t a, uint32_t b, float sum) {
  sum = withoutSubnormals(sum);
  for (uint32_t shift : {16U, 0U}) {
    auto number = [&](uint32_t word) {
      return withoutSubnormals(bf16ToF32(static_cast<uint16_t>(word >> shift)));
    };
    sum = withoutSubnormals(std::fma(number(a), number(b), sum));
  }
  return sum;
}

} // namespace sinter
