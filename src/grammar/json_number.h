// Numbers of JSON within bounds, as parts of a grammar that compare them digit by digit.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

// A bound as its decimal digits say it; both texts without needless zeros.
struct DecimalBound {
  bool isNegative = false;
  std::string whole = "0", fraction;
  bool isExclusive = false;
};
// Of the shortest text of `value` that reads back as it. Unsupported: it has more than 18 digits
// before the point or more than 20 behind it.
Result<DecimalBound> decimalBound(double value, bool isExclusive);

// Of a step of `part` x 10^-digits.
struct Multiple {
  uint32_t part = 1, digits = 0;
};
// At most, as a multiple's part and as (digits + 1) * part.
inline constexpr uint32_t kMostDivisor = 1000, kMostRemainders = 10'000;

struct NumberRule {
  bool isInteger = false;
  bool isFraction = false; // no integer
  std::optional<DecimalBound> least = {}, most = {};
  std::vector<Multiple> multiples = {};    // of each of these
  std::vector<Multiple> notMultiples = {}; // of none of these
  std::vector<DecimalBound> notValues = {};
  // Digits behind the point at most.
  std::optional<uint32_t> fractionDigits = {};
};

// Numbers as JSON writes them. At most 19 digits before the point and 20 behind it; an exponent
// only where nothing is demanded. Where fractions must not be something, 15 digits in all, which
// readers of doubles tell apart.
ExprId numberExpr(Grammar &grammar, const NumberRule &rule);

} // namespace sinter::grammar
