// Compares with a bound from the first digit on. While the digits equal the bound's, the next one
// may equal it or lie on the allowed side; once one differs, any digits may follow.
#include "grammar/json_number.h"

#include <algorithm>
#include <charconv>

namespace sinter::grammar {
namespace {

constexpr uint32_t kMostWhole = 19, kMostFraction = 20;
// So that every number is one of doubles, which end at 1e308.
constexpr uint32_t kMostExponent = 2;

class NumberWriter {
public:
  NumberWriter(Grammar &grammar, const NumberRule &rule) : g_(grammar), rule_(rule) {
    zero_ = g_.text("0");
    digit_ = digits('0', '9');
    nonZero_ = digits('1', '9');
    minus_ = g_.text("-");
  }

  ExprId write() {
    std::vector<ExprId> all;
    if (!rule_.least && !rule_.most)
      all.push_back(unbounded());
    if (rule_.least)
      all.push_back(atLeast(*rule_.least));
    if (rule_.most)
      all.push_back(atMost(*rule_.most));
    for (const Multiple &multiple : rule_.multiples)
      all.push_back(multiplesOf(multiple));
    if (mustDiffer() && hasFraction())
      all.push_back(shortNumbers());
    ExprId number = all.front();
    for (size_t i = 1; i < all.size(); ++i)
      number = g_.both(number, all[i]);
    std::vector<ExprId> others;
    for (const Multiple &multiple : rule_.notMultiples)
      others.push_back(multiplesOf(multiple));
    if (rule_.isFraction)
      others.push_back(multiplesOf({}));
    for (const DecimalBound &value : rule_.notValues)
      others.push_back(writingsOf(value));
    return others.empty() ? number : g_.except(number, g_.choice(others));
  }

private:
  ExprId digits(char first, char last) {
    return g_.characters(first <= last ? CharacterSet({{char32_t(first), char32_t(last)}})
                                       : CharacterSet());
  }
  ExprId sequence(std::initializer_list<ExprId> parts) {
    return g_.sequence({parts.begin(), parts.size()});
  }
  ExprId choice(std::initializer_list<ExprId> parts) {
    return g_.choice({parts.begin(), parts.size()});
  }
  ExprId optional(ExprId part) { return g_.repeat(part, 0, 1); }
  ExprId nothing() { return g_.choice({}); }

  bool hasFraction() const { return !rule_.isInteger && rule_.fractionDigits != 0u; }
  bool mustDiffer() const {
    return rule_.isFraction || !rule_.notMultiples.empty() || !rule_.notValues.empty();
  }
  uint32_t fractionDigits() const { return rule_.fractionDigits.value_or(kMostFraction); }
  // Digits behind `used` ones of a fraction; at least `least`.
  ExprId fractionRest(size_t used, uint32_t least = 0) {
    const auto left = fractionDigits() - std::min<uint32_t>(fractionDigits(), uint32_t(used));
    return left < least ? nothing() : g_.repeat(digit_, least, left);
  }
  ExprId anyFraction() {
    return hasFraction() ? optional(sequence({g_.text("."), fractionRest(0, 1)})) : g_.empty();
  }
  ExprId anyWhole() {
    return choice({zero_, sequence({nonZero_, g_.repeat(digit_, 0, kMostWhole - 1)})});
  }
  ExprId anyMagnitude() { return sequence({anyWhole(), anyFraction()}); }

  ExprId unbounded() {
    const ExprId signs = optional(choice({g_.text("+"), minus_}));
    const ExprId exponent = sequence({g_.characters(CharacterSet({{'e', 'e'}, {'E', 'E'}})), signs,
                                      g_.repeat(digit_, 1, kMostExponent)});
    const bool isPlain = !hasFraction() || rule_.fractionDigits || mustDiffer();
    return sequence({optional(minus_), anyMagnitude(), isPlain ? g_.empty() : optional(exponent)});
  }

  // Digits as many as the bound's, above it (`up`) or below it.
  ExprId sameLength(std::string_view bound, bool up) {
    std::vector<ExprId> ways;
    for (size_t i = 0; i < bound.size(); ++i) {
      const char least = i == 0 && bound.size() > 1 ? '1' : '0';
      const ExprId next = up ? digits(char(bound[i] + 1), '9') : digits(least, char(bound[i] - 1));
      const auto left = static_cast<uint32_t>(bound.size() - i - 1);
      ways.push_back(sequence({g_.text(bound.substr(0, i)), next, g_.repeat(digit_, left, left)}));
    }
    return g_.choice(ways);
  }
  ExprId wholeAbove(std::string_view bound) {
    const auto length = static_cast<uint32_t>(bound.size());
    const ExprId longer = length < kMostWhole
                              ? sequence({nonZero_, g_.repeat(digit_, length, kMostWhole - 1)})
                              : nothing();
    return choice({longer, sameLength(bound, true)});
  }
  ExprId wholeBelow(std::string_view bound) {
    const auto length = static_cast<uint32_t>(bound.size());
    if (length == 1)
      return sameLength(bound, false);
    const ExprId shorter = choice({zero_, sequence({nonZero_, g_.repeat(digit_, 0, length - 2)})});
    return choice({shorter, sameLength(bound, false)});
  }

  // Fractions, with their point, that are at least the bound's.
  ExprId fractionAtLeast(const DecimalBound &bound) {
    const std::string &f = bound.fraction;
    if (!hasFraction())
      return f.empty() && !bound.isExclusive ? g_.empty() : nothing();
    if (f.empty() && !bound.isExclusive)
      return anyFraction();
    std::vector<ExprId> ways;
    for (size_t i = 0; i < f.size(); ++i)
      ways.push_back(
          sequence({g_.text(f.substr(0, i)), digits(char(f[i] + 1), '9'), fractionRest(i + 1)}));
    if (f.size() <= fractionDigits())
      ways.push_back(sequence(
          {g_.text(f), bound.isExclusive ? positiveRest(f.size()) : fractionRest(f.size())}));
    return sequence({g_.text("."), g_.choice(ways)});
  }
  // Digits behind a fraction's first ones that are not all zero.
  ExprId positiveRest(size_t used) {
    const ExprId zeros = g_.repeat(zero_, 0, kMostFraction);
    return g_.both(fractionRest(used),
                   sequence({zeros, nonZero_, g_.repeat(digit_, 0, kMostFraction)}));
  }
  ExprId fractionAtMost(const DecimalBound &bound) {
    const std::string &f = bound.fraction;
    if (!hasFraction())
      return f.empty() && bound.isExclusive ? nothing() : g_.empty();
    if (f.empty())
      return bound.isExclusive ? nothing() : optional(sequence({g_.text("."), zeros(0, 1)}));
    std::vector<ExprId> ways;
    for (size_t i = 0; i < f.size(); ++i) {
      ways.push_back(
          sequence({g_.text(f.substr(0, i)), digits('0', char(f[i] - 1)), fractionRest(i + 1)}));
      if (i > 0)
        ways.push_back(g_.text(f.substr(0, i)));
    }
    if (!bound.isExclusive && f.size() <= fractionDigits())
      ways.push_back(sequence({g_.text(f), zeros(f.size(), 0)}));
    return optional(sequence({g_.text("."), g_.choice(ways)}));
  }
  ExprId zeros(size_t used, uint32_t least) {
    const auto left = fractionDigits() - std::min<uint32_t>(fractionDigits(), uint32_t(used));
    return left < least ? nothing() : g_.repeat(zero_, least, left);
  }

  ExprId magnitudeAtLeast(const DecimalBound &bound) {
    return choice({sequence({wholeAbove(bound.whole), anyFraction()}),
                   sequence({g_.text(bound.whole), fractionAtLeast(bound)})});
  }
  ExprId magnitudeAtMost(const DecimalBound &bound) {
    return choice({sequence({wholeBelow(bound.whole), anyFraction()}),
                   sequence({g_.text(bound.whole), fractionAtMost(bound)})});
  }
  static bool isZero(const DecimalBound &bound) {
    return bound.whole == "0" && bound.fraction.empty();
  }

  ExprId atLeast(const DecimalBound &bound) {
    if (!bound.isNegative || isZero(bound))
      return magnitudeAtLeast(bound);
    return choice({anyMagnitude(), sequence({minus_, magnitudeAtMost(bound)})});
  }
  ExprId atMost(const DecimalBound &bound) {
    if (bound.isNegative && !isZero(bound))
      return sequence({minus_, magnitudeAtLeast(bound)});
    if (isZero(bound) && bound.isExclusive)
      return sequence({minus_, magnitudeAtLeast(bound)});
    return choice({magnitudeAtMost(bound), sequence({minus_, anyMagnitude()})});
  }

  // Of 15 digits at most.
  ExprId shortNumbers() {
    constexpr uint32_t kDigits = 15;
    std::vector<ExprId> ways;
    for (uint32_t whole = 1; whole <= kDigits; ++whole) {
      const ExprId fraction =
          whole == kDigits
              ? g_.empty()
              : optional(sequence({g_.text("."), g_.repeat(digit_, 1, kDigits - whole)}));
      ways.push_back(sequence({g_.repeat(digit_, whole, whole), fraction}));
    }
    return sequence({optional(minus_), g_.choice(ways)});
  }

  ExprId writingsOf(const DecimalBound &value) {
    const ExprId sign = isZero(value) ? optional(minus_) : value.isNegative ? minus_ : g_.empty();
    const ExprId whole = g_.text(value.whole);
    const ExprId point = g_.text(".");
    if (value.fraction.empty())
      return sequence(
          {sign, whole, optional(sequence({point, g_.repeat(zero_, 1, kMostFraction)}))});
    return sequence(
        {sign, whole, point, g_.text(value.fraction), g_.repeat(zero_, 0, kMostFraction)});
  }

  // A rule for each remainder: what may follow the digits that leave it. Digits of the fraction are
  // counted as far as they make a difference; others are zeros.
  ExprId multiplesOf(const Multiple &multiple) {
    const uint32_t part = multiple.part, last = multiple.digits;
    std::vector<std::vector<RuleId>> rules(last + 1); // by digits of the fraction
    for (std::vector<RuleId> &ofDigits : rules)
      for (uint32_t i = 0; i < part; ++i)
        ofDigits.push_back(g_.declare("multiples of " + std::to_string(part)));
    const auto follow = [&](uint32_t remainder, uint32_t digits, char first) {
      std::vector<ExprId> ways;
      for (char digit = first; digit <= '9'; ++digit)
        ways.push_back(
            sequence({g_.text(std::string(1, digit)),
                      g_.call(rules[digits][(remainder * 10 + uint32_t(digit - '0')) % part])}));
      return g_.choice(ways);
    };
    std::vector<uint64_t> scale(last + 1, 1 % part); // of the digits that are missing
    for (uint32_t digits = last; digits-- > 0;)
      scale[digits] = scale[digits + 1] * 10 % part;
    const auto isMultiple = [&](uint32_t remainder, uint32_t digits) {
      return remainder * scale[digits] % part == 0;
    };
    const auto end = [&](uint32_t remainder) { // of the digits before the point
      const ExprId point = g_.text(".");
      const ExprId none = isMultiple(remainder, 0) ? g_.empty() : nothing();
      if (last > 0)
        return choice({none, sequence({point, follow(remainder, 1, '0')})});
      return sequence({none, optional(sequence({point, g_.repeat(zero_, 1, kMostFraction)}))});
    };
    for (uint32_t i = 0; i < part; ++i) {
      g_.define(rules[0][i], choice({follow(i, 0, '0'), end(i)}));
      for (uint32_t digits = 1; digits <= last; ++digits) {
        const ExprId rest = digits < last ? g_.empty() : g_.repeat(zero_, 0, kMostFraction);
        const ExprId done = isMultiple(i, digits) ? rest : nothing();
        const ExprId more = digits < last ? follow(i, digits + 1, '0') : nothing();
        g_.define(rules[digits][i], choice({done, more}));
      }
    }
    return sequence({optional(minus_), choice({sequence({zero_, end(0)}), follow(0, 0, '1')})});
  }

  Grammar &g_;
  const NumberRule &rule_;
  ExprId zero_, digit_, nonZero_, minus_;
};

} // namespace

Result<DecimalBound> decimalBound(double value, bool isExclusive) {
  char text[512];
  const auto end = std::to_chars(text, std::end(text), value, std::chars_format::fixed).ptr;
  std::string_view digits(text, end);
  DecimalBound bound{digits.starts_with('-'), "", "", isExclusive};
  digits.remove_prefix(bound.isNegative);
  const size_t point = std::min(digits.find('.'), digits.size());
  bound.whole = digits.substr(0, point);
  bound.fraction = digits.substr(std::min(point + 1, digits.size()));
  if (bound.whole.size() > kMostWhole - 1 || bound.fraction.size() > kMostFraction ||
      bound.whole.find_first_not_of("0123456789") != std::string::npos)
    return fail(Code::Unsupported, "a bound of " + std::string(text, end) +
                                       ", expected at most 18 digits before the point and 20 "
                                       "behind it");
  return bound;
}

ExprId numberExpr(Grammar &grammar, const NumberRule &rule) {
  return NumberWriter(grammar, rule).write();
}

} // namespace sinter::grammar
