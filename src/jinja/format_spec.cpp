// The rules that both kinds of Python's formats share.
#include "jinja/format_spec.h"

#include "jinja/characters.h"
#include "jinja/convert.h"
#include "jinja/numbers.h"
#include "jinja/text_operations.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sinter::jinja {
namespace {

Fail hasNoFormat(const Value &value, char type) {
  return fail(Code::InvalidArgument, std::string("the format '") + type +
                                         "' does not take a value of type '" +
                                         std::string(typeName(value)) + "'");
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return text;
}

// The digits of a whole number without its sign.
std::string integerDigits(int64_t value, int base) {
  char buffer[72];
  const uint64_t magnitude =
      value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base).ptr;
  return std::string(buffer, end);
}

// With marks between groups of digits before the point.
std::string grouped(const std::string &digits, char mark, size_t group) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % group == 0)
      out += mark;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

// As 'g', but with a point, and with an exponent one digit sooner.
std::string plainReal(double value, int precision) {
  precision = std::max(precision, 1);
  const std::string scientific = realText(value, 'e', precision - 1, false);
  const size_t mark = scientific.find('e');
  if (mark == std::string::npos)
    return scientific;
  int exponent = 0;
  const size_t sign = scientific[mark + 1] == '+';
  std::from_chars(scientific.data() + mark + 1 + sign, scientific.data() + scientific.size(),
                  exponent);
  if (exponent < -4 || exponent + 1 > precision - 1) {
    std::string mantissa = scientific.substr(0, mark);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.ends_with('.'))
        mantissa.pop_back();
    }
    return mantissa + scientific.substr(mark);
  }
  const std::string text = realText(value, 'g', precision, false);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string realDigits(double magnitude, const FormatSpec &spec) {
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  switch (spec.type) {
  case '\0':
    return spec.precision < 0 ? floatText(magnitude) : plainReal(magnitude, spec.precision);
  case '%':
    return realText(magnitude * 100, 'f', precision, spec.isAlternate) + "%";
  case 'n':
    return realText(magnitude, 'g', precision, spec.isAlternate);
  default: {
    const std::string text =
        realText(magnitude, static_cast<char>(spec.type | 0x20), precision, spec.isAlternate);
    return spec.type < 'a' ? upper(text) : text;
  }
  }
}

// Sign or prefix, then digits, filled between them or around both.
Result<void> addPadded(Runtime &runtime, const std::string &prefix, const std::string &digits,
                       Origin origin, const FormatSpec &spec, TextBuilder &out) {
  if (spec.align == '=') {
    const auto width = spec.width - static_cast<int64_t>(prefix.size());
    SINTER_ASSIGN(const Text rest,
                  filled(runtime, Text(digits, origin), width, spec.fill, Side::Left));
    out.add(prefix, origin);
    out.add(rest);
    return {};
  }
  const Side side = spec.align == '<' ? Side::Right : spec.align == '^' ? Side::Both : Side::Left;
  const Text text(prefix + digits, origin);
  const auto missing = spec.width - static_cast<int64_t>(countCharacters(text.bytes()));
  if (side != Side::Both || missing <= 0) {
    SINTER_ASSIGN(const Text made, filled(runtime, text, spec.width, spec.fill, side));
    out.add(made);
    return {};
  }
  // Of an odd number the larger half is at the right.
  SINTER_ASSIGN(const Text left,
                filled(runtime, text, spec.width - (missing + 1) / 2, spec.fill, Side::Left));
  SINTER_ASSIGN(const Text made, filled(runtime, left, spec.width, spec.fill, Side::Right));
  out.add(made);
  return {};
}

Result<void> addInteger(Runtime &runtime, const Value &number, const FormatSpec &spec,
                        TextBuilder &out) {
  const int base = spec.type == 'b'            ? 2
                   : spec.type == 'o'          ? 8
                   : (spec.type | 0x20) == 'x' ? 16
                                               : 10;
  std::string digits = integerDigits(number.integer(), base);
  if (spec.type == 'X')
    digits = upper(digits);
  if (static_cast<int>(digits.size()) < spec.precision)
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  if (spec.grouping)
    digits = grouped(digits, spec.grouping, base == 10 ? 3 : 4);
  std::string prefix = number.integer() < 0 ? "-"
                       : spec.sign != '-'   ? std::string(1, spec.sign)
                                            : "";
  if (spec.isAlternate && base != 10)
    prefix += std::string("0") + spec.type;
  return addPadded(runtime, prefix, digits, number.origin(), spec, out);
}

} // namespace

Result<void> addNumber(Runtime &runtime, const Value &number, const FormatSpec &spec,
                       TextBuilder &out) {
  constexpr std::string_view kWhole = "bdoxX", kReal = "eEfFgG%";
  const bool isWhole = spec.type == '\0' || spec.type == 'n'
                           ? number.isIntegral()
                           : kWhole.find(spec.type) != std::string_view::npos;
  if (isWhole && number.isIntegral())
    return addInteger(runtime, number, spec, out);
  if (isWhole || (spec.type && spec.type != 'n' && kReal.find(spec.type) == std::string_view::npos))
    return hasNoFormat(number, spec.type);
  const double value = number.real();
  const bool isNegative = std::signbit(value) && !std::isnan(value);
  std::string digits = realDigits(std::fabs(value), spec);
  if (spec.grouping)
    digits = grouped(digits, spec.grouping, 3);
  const std::string prefix = isNegative ? "-" : spec.sign != '-' ? std::string(1, spec.sign) : "";
  return addPadded(runtime, prefix, digits, number.origin(), spec, out);
}

Result<void> addText(Runtime &runtime, const Text &text, const FormatSpec &spec, TextBuilder &out) {
  Text shown = text;
  if (spec.precision >= 0)
    shown = text.slice(0, byteOfCharacter(text.bytes(), static_cast<size_t>(spec.precision)));
  const auto missing = spec.width - static_cast<int64_t>(countCharacters(shown.bytes()));
  const int64_t left = missing <= 0        ? 0
                       : spec.align == '>' ? missing
                       : spec.align == '^' ? missing / 2
                                           : 0;
  SINTER_ASSIGN(const Text before,
                filled(runtime, shown, spec.width - std::max<int64_t>(missing, 0) + left, spec.fill,
                       Side::Left));
  SINTER_ASSIGN(const Text made, filled(runtime, before, spec.width, spec.fill, Side::Right));
  out.add(made);
  return {};
}

} // namespace sinter::jinja
