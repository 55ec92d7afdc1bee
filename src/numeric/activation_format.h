// The formats of activations in integer dots, Sinter's own: blocks of 32 elements as signed bytes
// with a scale, and what sums of the codes give, because weights have zero points and minima.
//
// A block holds: scale (f32), the sum of its codes (f32), -128 * that sum (i32: where a dot with
// codes whose zero is 128 starts); the same two numbers of each part where the format has parts
// (all sums, then all starts); 32 codes (i8). `scaleLength` elements, one or more blocks, share one
// scale, which each of these blocks holds; products read the first one's. scale = largest magnitude
// / 127; code = value * (127 / largest magnitude), ties to even, 0 where that factor is infinite.
//
// Stepped scales, each of one block, are 2^e times one of kScaleSteps factors from 1 on, the next
// that is no less than the largest magnitude / 127; code = value * (1 / scale), ties to even; below
// kLeastScale it is 0, and so are codes. Products have their weights' scales ready times each
// factor, and 2^e costs no multiplication: the bits of the anchor, 1.5 * 2^(23 + e - kAnchorShift),
// plus a dot are, as f32, the anchor + dot * 2^(e - kAnchorShift), exactly. Such a block holds the
// factor times 2^kAnchorShift instead of the scale, sums times the scale, starts plus the anchor's
// bits, and behind these three numbers the anchor (0 for scales of 0, infinite for NaN and
// infinities). What has no such weights at hand reads free scales with less work.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sinter {

inline constexpr uint32_t kActivationLength = 32; // elements of a block
inline constexpr int32_t kActivationStartZero = 128;
inline constexpr uint32_t kScaleStepBits = 3; // of a stepped scale's mantissa
inline constexpr uint32_t kScaleSteps = 1u << kScaleStepBits;
inline constexpr float kLeastScale = 0x1p-100f; // of stepped ones but 0
// Keeps anchors of all scales between the smallest and the largest normal number.
inline constexpr uint32_t kAnchorShift = 20;

// What a scale may be: any f32 number, or one of few steps.
enum class Scales { Free, Stepped };

struct ActivationFormat {
  std::string_view name;
  uint32_t partLength;  // elements whose sums the block holds; kActivationLength: the whole only
  uint32_t scaleLength; // a multiple of kActivationLength; that itself where scales are stepped
  Scales scales;

  static constexpr uint32_t kAnchorOffset = 12;

  constexpr bool isStepped() const { return scales == Scales::Stepped; }
  constexpr uint32_t headBytes() const { return isStepped() ? 16 : 12; }
  constexpr uint32_t parts() const { return kActivationLength / partLength; }
  constexpr uint32_t partSums() const { return parts() == 1 ? 0 : parts(); }
  // Of the sum over elements [part * length, (part + 1) * length), with `length` that of the block
  // or of a part.
  constexpr uint32_t sumOffset(uint32_t length, uint32_t part) const {
    return length == kActivationLength ? 4 : headBytes() + 4 * part;
  }
  constexpr uint32_t startOffset(uint32_t length, uint32_t part) const {
    return length == kActivationLength ? 8 : headBytes() + 4 * (partSums() + part);
  }
  constexpr uint32_t codeOffset() const { return headBytes() + 8 * partSums(); }
  constexpr uint32_t bytes() const { return codeOffset() + kActivationLength; }
};

// Sums of whole blocks, and also of halves for weights whose scales change every 16 elements. One
// scale for 256 elements is as exact as what weights of few bits are multiplied by elsewhere, and
// sums are scaled less often.
inline constexpr ActivationFormat kQ8a{"Q8A", 32, 32, Scales::Stepped};
inline constexpr ActivationFormat kQ8a32{"Q8A_32", 32, 32, Scales::Free};
inline constexpr ActivationFormat kQ8a256{"Q8A_256", 32, 256, Scales::Free};
inline constexpr ActivationFormat kQ8a16{"Q8A_16", 16, 32, Scales::Stepped};
inline constexpr ActivationFormat kQ8a16By32{"Q8A_16_32", 16, 32, Scales::Free};
inline constexpr ActivationFormat kQ8a16By256{"Q8A_16_256", 16, 256, Scales::Free};

std::span<const ActivationFormat> activationFormats();
// Null where the name is none of an activation format.
const ActivationFormat *findActivationFormat(std::string_view name);
// The format with sums of groups of so many elements (16 or 32) and the longest scales of which a
// stretch of `length` elements, whole blocks, holds a whole number; scales of one block are
// `ofOneBlock`.
const ActivationFormat &activationFormatFor(uint32_t groupLength, uint64_t length,
                                            Scales ofOneBlock);

// Rounds `scaleLength` values into blocks. NaN becomes code 0, of a NaN scale or, where scales are
// stepped, of a NaN factor above an infinite anchor.
void quantizeActivation(const ActivationFormat &format, std::span<const float> values,
                        std::span<uint8_t> blocks);

// Factor `step` of stepped scales, 2^kAnchorShift times as large.
constexpr float shiftedFactor(uint32_t step) {
  return (1 + static_cast<float>(step) / kScaleSteps) * (1u << kAnchorShift);
}
// The anchor of 2^0, and what one of a dot is above an anchor: 2^(e - kAnchorShift).
inline constexpr float kUnitAnchor = 1.5f * (1u << (23 - kAnchorShift));
inline constexpr float kUnitOfAnchor = 0x1p-23f / 1.5f; // times an anchor, exact after rounding
constexpr float anchoredUnit(float anchor) {
  return anchor * kUnitOfAnchor;
}

// Parts of a block.
float activationScale(const ActivationFormat &format, const uint8_t *block);
// A stepped scale as products take it: the factor, 2^kAnchorShift times as large, times the unit.
struct SteppedScale {
  float factor, unit;
};
SteppedScale steppedScale(const uint8_t *block);
int8_t activationCode(const ActivationFormat &format, const uint8_t *block, uint32_t element);

} // namespace sinter
