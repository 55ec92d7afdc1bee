// Numbers read from texts, and rounded, as Python does.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::jinja {

// int(text, base), with base 0 or 2 to 36; nothing where it is no number. Unsupported beyond 64
// bits.
Result<std::optional<int64_t>> readInteger(std::string_view text, int64_t base);
// float(text); nothing where it is no number.
std::optional<double> readReal(std::string_view text);
// round(value, digits): half to even, of the decimal digits that the value has exactly.
double rounded(double value, int64_t digits);
int64_t roundedInteger(int64_t value, int64_t digits);

// The number as "%.*f", "%.*e" or "%.*g" writes it ('f', 'e', 'g' or upper case).
std::string realText(double value, char kind, int precision, bool isAlternate);

} // namespace sinter::jinja
