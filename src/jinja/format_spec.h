// One field of "%5.2f" or "{:>10}", and how values are written in it.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

struct FormatSpec {
  Text fill{" ", Origin::Template};
  char align = '\0'; // '<', '>', '^', '=' (after the sign) or none
  char sign = '-';   // '-', '+' or ' '
  bool isAlternate = false;
  char grouping = '\0'; // ',' or '_' between thousands
  int64_t width = 0;
  int precision = -1; // none
  char type = '\0';   // none
};

// Digits of a format with more of them are refused.
inline constexpr int kMostPrecision = 500;

// Adds a number in its field. InvalidArgument, with the type: it has no such format.
Result<void> addNumber(Runtime &runtime, const Value &number, const FormatSpec &spec,
                       TextBuilder &out);
// Adds a text, cut to the precision, in its field.
Result<void> addText(Runtime &runtime, const Text &text, const FormatSpec &spec, TextBuilder &out);

} // namespace sinter::jinja
