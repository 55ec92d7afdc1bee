// Python allows white space around a number, a sign, and single underscores between digits.
#include "jinja/numbers.h"

#include "jinja/characters.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace sinter::jinja {
namespace {

// Without single underscores between digits; nothing where one stands elsewhere.
std::optional<std::string> withoutUnderscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto isDigit = [&](size_t at) {
      return at < text.size() && (isDigitCharacter(static_cast<unsigned char>(text[at])) ||
                                  isAlphaCharacter(static_cast<unsigned char>(text[at]) & 0x7f));
    };
    if (i == 0 || !isDigit(i - 1) || !isDigit(i + 1))
      return std::nullopt;
  }
  return out;
}

bool takeSign(std::string &text) {
  const bool isNegative = text.starts_with('-');
  if (isNegative || text.starts_with('+'))
    text.erase(0, 1);
  return isNegative;
}

// Takes "0x" and the like; the base that it says, or 10.
int64_t takeBase(std::string &text, int64_t base) {
  const char mark = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : ' ';
  const int64_t said = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
  if (said == 0 || (base != 0 && base != said))
    return base == 0 ? 10 : base;
  text.erase(0, text.size() > 2 && text[2] == '_' ? 3 : 2);
  return said;
}

} // namespace

Result<std::optional<int64_t>> readInteger(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36))
    return fail(Code::InvalidArgument,
                "the base " + std::to_string(base) + " is not 0 or between 2 and 36");
  std::optional<std::string> digits = withoutUnderscores(stripped(text));
  if (!digits)
    return std::optional<int64_t>();
  const bool isNegative = takeSign(*digits);
  const bool isPlain = base == 0 && digits->size() > 1 && (*digits)[0] == '0' &&
                       digits->find_first_not_of('0') != std::string::npos &&
                       isDigitCharacter(static_cast<unsigned char>((*digits)[1]));
  const int64_t radix = takeBase(*digits, base);
  if (digits->empty() || isPlain || (*digits)[0] == '-' || (*digits)[0] == '+')
    return std::optional<int64_t>();
  const std::string signedDigits = (isNegative ? "-" : "") + *digits;
  int64_t value = 0;
  const char *end = signedDigits.data() + signedDigits.size();
  const auto read = std::from_chars(signedDigits.data(), end, value, static_cast<int>(radix));
  if (read.ec == std::errc::result_out_of_range && read.ptr == end)
    return fail(Code::Unsupported, "a whole number beyond 64 bits");
  if (read.ec != std::errc() || read.ptr != end)
    return std::optional<int64_t>();
  return std::optional(value);
}

std::optional<double> readReal(std::string_view text) {
  std::optional<std::string> digits = withoutUnderscores(stripped(text));
  if (!digits)
    return std::nullopt;
  const bool isNegative = takeSign(*digits);
  const bool hasSign = digits->starts_with('-') || digits->starts_with('+');
  double value = 0;
  const char *end = digits->data() + digits->size();
  const auto read = std::from_chars(digits->data(), end, value);
  if (digits->empty() || hasSign || read.ptr != end || digits->find('(') != std::string::npos)
    return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) // so large that it is none, or so small
    value = digits->find("e-") != std::string::npos || digits->find("E-") != std::string::npos
                ? 0
                : HUGE_VAL;
  else if (read.ec != std::errc())
    return std::nullopt;
  return isNegative ? -value : value;
}

double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || value == 0 || digits > 323)
    return value;
  if (digits < -308)
    return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  const std::string text = realText(value, 'f', static_cast<int>(digits), false);
  double result = value;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

int64_t roundedInteger(int64_t value, int64_t digits) {
  if (digits >= 0)
    return value;
  if (digits < -18)
    return 0;
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i)
    unit *= 10;
  int64_t rest = value % unit;
  rest += rest < 0 ? unit : 0;
  const int64_t below = value - rest; // a multiple of the unit; its neighbour is one unit above
  const bool isUp = rest > unit - rest || (rest == unit - rest && (below / unit) % 2 != 0);
  return isUp ? below + unit : below;
}

std::string realText(double value, char kind, int precision, bool isAlternate) {
  const char format[] = {'%',
                         isAlternate ? '#' : '.',
                         isAlternate ? '.' : '*',
                         isAlternate ? '*' : kind,
                         isAlternate ? kind : '\0',
                         '\0'};
  char buffer[1100]; // the longest double with the most digits that callers ask for
  const int size = std::snprintf(buffer, sizeof buffer, format, precision, value);
  return std::string(buffer, static_cast<size_t>(std::min<int>(size, sizeof buffer - 1)));
}

} // namespace sinter::jinja
