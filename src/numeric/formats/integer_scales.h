// Scales of short groups (of less than a block of activations) that are whole numbers times one
// number of their block, as those of Q2_K, Q3_K and Q6_K. Beside activations that share a scale
// over as many elements as a block has, the exact dots of groups sum up as integers, and one
// product scales all of them. Groups of 32 are scaled one by one: two at a time took as long
// (iq4_xs, 500 rows: 0.99 to 1.02 of the time, q4_k 1.03, q6_k and q3_k 0.94).
//
//   total = sum over groups of number(g) * (dot(g) >> shift)
//   sum of the products = total * scale + centre,  scale = unit * 2^shift
//   centre = scale * lost * sum over groups of number(g); 0 where nothing is lost
//
// A dot of bytes loses as many of its lowest bits as make it fit a word of 16, so that one
// instruction multiplies and adds two groups; the centre adds what is lost of a shortened dot on
// average. Of random numbers the error of q6_k is 0.04 of what rounding activations to bytes costs
// (root mean squares). Words hold what codes of at most 127 in magnitude make.
#pragma once

#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"

#include <optional>

namespace sinter {

struct IntegerScales {
  uint32_t shift; // the bits that a dot loses

  constexpr int32_t shortened(int32_t dot) const { return dot >> shift; }
  constexpr float factor() const { return static_cast<float>(1 << shift); }
  constexpr float lost() const { return (factor() - 1) / 2 / factor(); } // on average
};

// None where scales are no such numbers, groups are no shorter than a block of activations, the
// format has no packing for dots, or totals of a block might overflow.
std::optional<IntegerScales> integerScales(const BlockFormat &format);
// None, too, beside activations that share a scale over fewer elements (q6_k and 64: 1.05 of the
// time).
std::optional<IntegerScales> integerScales(const BlockFormat &format,
                                           const ActivationFormat &activation);

// The number of the group that holds `element`. For formats that have integer scales.
int32_t scaleNumber(const BlockFormat &format, const uint8_t *block, uint32_t element);

// What a total becomes a sum by.
struct TotalScale {
  float scale = 0, centre = 0;

  float of(int32_t total) const; // as f32, then one fma
};
// That of all groups of a block. For formats that have integer scales.
TotalScale totalScale(const BlockFormat &format, const uint8_t *block);

} // namespace sinter
