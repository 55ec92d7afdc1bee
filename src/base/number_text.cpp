// Units go by powers of 1024.
#include "base/number_text.h"

#include <cstdio>
#include <iterator>

namespace sinter {

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

} // namespace sinter
