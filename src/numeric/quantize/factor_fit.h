// A scale or minimum of both levels while it is fitted: only what the format can store.
#pragma once

#include "numeric/quantize/group_fit.h"

#include <string>

namespace sinter {

// How a level-1 number is stored, and what the largest is.
struct StoredNumber {
  Number number;
  std::string_view name;
  uint64_t largestRaw; // of those that are finite, without a sign
  float limit;         // magnitudes from here on are refused
  bool isSigned;
  uint64_t (*nearest)(float value);
  float (*value)(uint64_t raw);
};

// For messages.
std::string sixDigits(double number);

// Null where level 1 cannot be fitted.
const StoredNumber *findStoredNumber(const GroupFactor &factor);

// The factor of one span, the elements that share a level-1 number. Values are in units of
// 2^exponent. A factor that the format lacks is 0.
class FactorFit {
public:
  // The factor must have levels and a stored number, or be absent.
  FactorFit(const GroupFactor &factor, uint32_t groups);

  bool present() const { return factor_.present(); }
  const Levels &levels() const { return levels_; }
  // Whether values of one span may have either sign.
  bool mayBeNegative() const;
  // Whether the level-1 number may.
  bool level1MayBeNegative() const { return mayBeNegative() && number_ && number_->isSigned; }

  float value(uint32_t group) const { return level1_ * unit(group); }
  // What `value` has for each unit of level 1.
  float unit(uint32_t group) const { return levels_.at(index_[group]); }
  float level1() const { return level1_; }
  uint32_t index(uint32_t group) const { return index_[group]; }
  void setIndex(uint32_t group, uint32_t index) { index_[group] = index; }

  // Fits both levels to the groups' values. Unsupported: level 1 would lie beyond the largest.
  Result<void> fit(const WeightedValues &wanted, int exponent);

  // The stored number next to `level1`; false where it would lie beyond the largest.
  bool setLevel1(float level1);
  // The next one up or down in magnitude; false where there is none.
  bool stepLevel1(int by);
  uint64_t raw() const { return raw_; }
  void setRaw(uint64_t raw);
  // Whether the numbers next to level 1 are so far off that they are worth trying.
  bool isCoarse() const;

  // Writes the span that begins at `element` of the block, over zero bits.
  void store(uint32_t element, uint8_t *block) const;

private:
  const GroupFactor &factor_;
  const StoredNumber *number_ = nullptr;
  Levels levels_;
  int exponent_ = 0;
  uint64_t raw_ = 0;
  float level1_ = 0;
  std::vector<uint32_t> index_; // of each group's level
};

} // namespace sinter
