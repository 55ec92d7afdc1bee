// What filters and methods of texts share: each byte of a result keeps its origin.
#pragma once

#include "jinja/runtime.h"

namespace sinter::jinja {

enum class Case : uint8_t { Upper, Lower, Capitalized, Title, Swapped };
// Title as str.title() has it: letters after other characters than letters.
Result<Text> withCase(Runtime &runtime, const Text &text, Case wanted);
// As the filter `title` has it: words begin after spaces, '-' and opening brackets.
Result<Text> titled(Runtime &runtime, const Text &text);

// Without the characters of `set` (none given: white space) at the ends.
Text trimmed(const Text &text, const std::string *set, bool atStart, bool atEnd);

// With the first `most` (negative: all) of `old` replaced.
Result<Text> replaced(Runtime &runtime, const Text &text, const Text &old, const Text &by,
                      int64_t most);

// Lines without their ends, or with them.
Result<std::vector<Text>> linesOf(Runtime &runtime, const Text &text, bool keepsEnds);

// Parts between separators, at most `most` + 1 of them (negative: all), counted from the left or
// the right. An empty separator: runs of white space, and no empty parts.
Result<std::vector<Text>> split(Runtime &runtime, const Text &text, std::string_view separator,
                                int64_t most, bool fromRight);

enum class Side : uint8_t { Left, Right, Both };
// With `fill` around it, up to a width in characters: `side` is where it is filled.
Result<Text> filled(Runtime &runtime, const Text &text, int64_t width, const Text &fill, Side side);

} // namespace sinter::jinja
