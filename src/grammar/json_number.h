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

struct NumberRule {
  bool isInteger = false;
  std::optional<DecimalBound> least = {}, most = {};
  // Digits behind the point at most, where multiples of 0.1, 0.01 and so on are asked for.
  std::optional<uint32_t> fractionDigits = {};
  std::vector<uint32_t> multiples = {}; // of each of these whole numbers
};

// At most kMostDivisor as a multiple.
inline constexpr uint32_t kMostDivisor = 1000;

// Numbers as JSON writes them. At most 19 digits before the point and 20 behind it; an exponent
// only where there are no bounds.
ExprId numberExpr(Grammar &grammar, const NumberRule &rule);

} // namespace sinter::grammar
