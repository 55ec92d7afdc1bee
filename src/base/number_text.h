// Numbers as messages and tables show them.
#pragma once

#include <string>

namespace sinter {

// "1.5 MiB", "0.8 KiB", "12 B".
std::string bytesText(double bytes);
// With `digits` digits after the point.
std::string fixed(double value, int digits);

} // namespace sinter
