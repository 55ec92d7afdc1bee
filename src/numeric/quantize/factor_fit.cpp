// Level-1 numbers as they are stored, and level-2 scales relative to them.
#include "numeric/quantize/factor_fit.h"

#include "numeric/half.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace sinter {
namespace {

constexpr uint64_t kF16Sign = 0x8000;

// Limits lie halfway from the largest number to what would be the next.
constexpr StoredNumber kStoredNumbers[] = {
    {Number::F16, "F16", 0x7bff, 65520.0f, true,
     [](float value) { return uint64_t{f32ToF16(value)}; },
     [](uint64_t raw) { return f16ToF32(static_cast<uint16_t>(raw)); }},
    {Number::E8m0Half, "E8M0", 254, 0x1.8p126f, false,
     [](float value) { return uint64_t{f32ToE8m0(2 * value)}; },
     [](uint64_t raw) { return std::ldexp(1.0f, static_cast<int>(raw) - 128); }},
    {Number::Ue4m3, "UE4M3", 0x7e, 464.0f, false,
     [](float value) { return uint64_t{f32ToUe4m3(value)}; },
     [](uint64_t raw) { return ue4m3ToF32(static_cast<uint8_t>(raw)); }},
};

} // namespace

std::string sixDigits(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

const StoredNumber *findStoredNumber(const GroupFactor &factor) {
  const auto *found =
      std::ranges::find(kStoredNumbers, factor.level1.number, &StoredNumber::number);
  return found != std::end(kStoredNumbers) ? found : nullptr;
}

FactorFit::FactorFit(const GroupFactor &factor, uint32_t groups) : factor_(factor), index_(groups) {
  if (!present())
    return;
  number_ = findStoredNumber(factor);
  levels_ = *factorLevels(factor);
}

bool FactorFit::mayBeNegative() const {
  if (levels_.count == 1)
    return number_ && number_->isSigned;
  return levels_.low() < 0 && levels_.high() > 0;
}

Result<void> FactorFit::fit(const WeightedValues &wanted, int exponent) {
  exponent_ = exponent;
  const FitRule rule{.negativeScale = level1MayBeNegative()};
  const float level1 = fitGroup(levels_, wanted, rule).at.scale;
  if (!setLevel1(level1))
    return fail(Code::Unsupported, "a block needs a scale or minimum of " +
                                       sixDigits(std::ldexp(double{level1}, exponent)) +
                                       ", beyond the largest " + std::string(number_->name) + ", " +
                                       sixDigits(double{number_->value(number_->largestRaw)}));
  const std::span<const float> values = wanted.values();
  for (size_t g = 0; g < values.size(); ++g)
    index_[g] = levels_.nearest(level1_ != 0 ? values[g] / level1_ : 0);
  return {};
}

bool FactorFit::setLevel1(float level1) {
  if (!present())
    return true;
  const auto value = static_cast<float>(std::ldexp(double{level1}, exponent_));
  if (!(std::fabs(value) < number_->limit))
    return false;
  setRaw(number_->nearest(value));
  return true;
}

bool FactorFit::stepLevel1(int by) {
  const uint64_t sign = number_->isSigned ? raw_ & kF16Sign : 0;
  const uint64_t magnitude = (raw_ - sign) + static_cast<uint64_t>(int64_t{by});
  if (magnitude > number_->largestRaw)
    return false;
  setRaw(sign | magnitude);
  return true;
}

void FactorFit::setRaw(uint64_t raw) {
  if (!present())
    return;
  raw_ = raw;
  level1_ = static_cast<float>(std::ldexp(double{number_->value(raw)}, -exponent_));
}

bool FactorFit::isCoarse() const {
  if (!present())
    return false;
  const uint64_t magnitude = number_->isSigned ? raw_ & ~kF16Sign : raw_;
  const float here = number_->value(magnitude);
  return magnitude == number_->largestRaw || number_->value(magnitude + 1) - here > here / 64;
}

void FactorFit::store(uint32_t element, uint8_t *block) const {
  if (!present())
    return;
  factor_.level1.store(block, element / factor_.level1Length, raw_);
  if (!factor_.level2Length)
    return;
  for (const uint32_t index : index_) {
    factor_.level2.store(block, element / factor_.level2Length, levels_.code(index));
    element += factor_.level2Length;
  }
}

} // namespace sinter
