// Which dots of bytes suit which weights.
#include "targets/cpu/emission/dot_method.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace sinter::targets::cpu {

// Of two products with activations, whose codes are no less than -127.
static uint32_t pairsInWord(int32_t largest) {
  return static_cast<uint32_t>(std::numeric_limits<int16_t>::max() /
                               (2 * 127 * std::max(largest, 1)));
}

// Words of unsigned weights above `zero`, or of signed ones where even two products would not fit.
static DotMethod pairMethod(NumberRange numbers, int32_t zero) {
  if (uint32_t pairs = pairsInWord(numbers.most + zero))
    return {zero, pairs};
  return {0, pairsInWord(numbers.largest()), /*signs=*/true};
}

DotMethod dotMethodOf(const CpuFacts &facts, const DotPacking &packing) {
  const NumberRange numbers = numbersOf(packing);
  if (facts.instructions.pairDot)
    return pairMethod(numbers, packing.zero);
  bool fits = !facts.instructions.signedBytes ||
              numbers.most + packing.zero <= std::numeric_limits<int8_t>::max();
  return {fits ? packing.zero : packing.zero + std::numeric_limits<int8_t>::min()};
}

DotMethod panelMethodOf(const CpuFacts &facts, NumberRange numbers) {
  const bool positive = numbers.least >= 0;
  if (facts.instructions.pairDot) {
    auto zero = static_cast<int32_t>(std::bit_ceil(static_cast<uint32_t>(-numbers.least)));
    return pairMethod(numbers, positive ? 0 : zero);
  }
  return {facts.instructions.signedBytes || positive ? 0 : kActivationStartZero};
}

} // namespace sinter::targets::cpu
