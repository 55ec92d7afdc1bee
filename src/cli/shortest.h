// Floats in the fewest digits that read back as the same.
#pragma once

#include <string>

namespace sinter::cli {

std::string shortestText(float value);
// As a double: 0.1 instead of 0.10000000149011612.
double shortest(float value);

} // namespace sinter::cli
