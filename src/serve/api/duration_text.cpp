// A sign, then numbers with units.
#include "serve/api/duration_text.h"

#include <charconv>
#include <cmath>

namespace sinter::serve {
namespace {

constexpr double kMostSeconds = 100.0 * 366 * 24 * 3600;

struct Unit {
  std::string_view name;
  double seconds;
};
// The longer of two that begin alike comes first.
constexpr Unit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3},
                           {"s", 1},     {"m", 60},    {"h", 3600}};

std::optional<double> takePart(std::string_view &text) {
  double number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (parsed.ec != std::errc() || text.front() == '-')
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  for (const Unit &unit : kUnits) {
    if (!text.starts_with(unit.name))
      continue;
    text.remove_prefix(unit.name.size());
    return number * unit.seconds;
  }
  return std::nullopt;
}

} // namespace

std::optional<std::chrono::seconds> parseDuration(std::string_view text) {
  const bool isNegative = text.starts_with('-');
  if (isNegative || text.starts_with('+'))
    text.remove_prefix(1);
  if (text == "0")
    return std::chrono::seconds(0);
  if (text.empty())
    return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const auto part = takePart(text);
    if (!part)
      return std::nullopt;
    total += *part;
  }
  if (!(total <= kMostSeconds))
    return std::nullopt;
  const auto seconds = static_cast<int64_t>(isNegative ? std::floor(-total) : total);
  return std::chrono::seconds(seconds);
}

} // namespace sinter::serve
