// The formats of activations in integer dots, Sinter's own: blocks of 32 elements as signed bytes
// with a scale, and what sums of the codes give, because weights have zero points and minima.
//
// A block holds: scale (f32), the sum of its codes (f32), -128 * that sum (i32: where a dot with
// codes whose zero is 128 starts); the same two numbers of each part where the format has parts
// (all sums, then all starts); 32 codes (i8). `scaleLength` elements, one or more blocks, share one
// scale, which each of these blocks holds; dots read the first one's.
//
// The largest magnitude of those elements becomes code 127 or 126, whichever leaves the smaller sum
// of squared errors, 127 where they are equal (of random blocks of 32 the noise is 0.92 of that
// with 127 alone). With `most` the magnitude and L that code: scale = most / L; code = value *
// (L / most), ties to even, 0 where that factor is infinite. The error of an element is value *
// (L / most) less its code. Squares are summed up in f32: those of element i of each block, block
// after block, then as a tree that joins i with i + 16, then with i + 8, 4, 2 and 1. The smaller
// sum is that of 126 if it is below the other times kSquaredSteps.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sinter {

inline constexpr uint32_t kActivationLength = 32; // elements of a block
inline constexpr int32_t kActivationStartZero = 128;
// The codes that the largest magnitude may become, the finer steps first.
inline constexpr float kLargestCode = 127, kSecondLargestCode = 126;
// A step of the first by one of the second, squared.
inline constexpr float kSquaredSteps =
    (kSecondLargestCode * kSecondLargestCode) / (kLargestCode * kLargestCode);

struct ActivationFormat {
  std::string_view name;
  uint32_t partLength;  // elements whose sums the block holds; kActivationLength: the whole only
  uint32_t scaleLength; // elements that share a scale, a multiple of kActivationLength

  static constexpr uint32_t kHeadBytes = 12;

  constexpr uint32_t parts() const { return kActivationLength / partLength; }
  constexpr uint32_t partSums() const { return parts() == 1 ? 0 : parts(); }
  // Of the sum over elements [part * length, (part + 1) * length), with `length` that of the block
  // or of a part.
  constexpr uint32_t sumOffset(uint32_t length, uint32_t part) const {
    return length == kActivationLength ? 4 : kHeadBytes + 4 * part;
  }
  constexpr uint32_t startOffset(uint32_t length, uint32_t part) const {
    return length == kActivationLength ? 8 : kHeadBytes + 4 * (partSums() + part);
  }
  constexpr uint32_t codeOffset() const { return kHeadBytes + 8 * partSums(); }
  constexpr uint32_t bytes() const { return codeOffset() + kActivationLength; }
};

// Sums of whole blocks, and also of halves for weights whose scales change every 16 elements. One
// scale for 256 elements is as exact as what weights of few bits are multiplied by elsewhere, and
// sums are scaled less often.
inline constexpr ActivationFormat kQ8a{"Q8A", 32, 32};
inline constexpr ActivationFormat kQ8a256{"Q8A_256", 32, 256};
inline constexpr ActivationFormat kQ8a16{"Q8A_16", 16, 32};
inline constexpr ActivationFormat kQ8a16By256{"Q8A_16_256", 16, 256};

std::span<const ActivationFormat> activationFormats();
// Null where the name is none of an activation format.
const ActivationFormat *findActivationFormat(std::string_view name);
// The format with sums of groups of so many elements (16 or 32) and the longest scales of which a
// stretch of `length` elements, whole blocks, holds a whole number.
const ActivationFormat &activationFormatFor(uint32_t groupLength, uint64_t length);

// Quantizes `scaleLength` values into blocks. NaN becomes code 0 of a NaN scale.
void quantizeActivation(const ActivationFormat &format, std::span<const float> values,
                        std::span<uint8_t> blocks);

// Parts of a block.
float activationScale(const ActivationFormat &format, const uint8_t *block);
int8_t activationCode(const ActivationFormat &format, const uint8_t *block, uint32_t element);

} // namespace sinter
