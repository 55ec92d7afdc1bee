// Formats of strings that JSON Schema names, as regular expressions.
#pragma once

#include <optional>
#include <string_view>

namespace sinter::grammar {

// The expression that a whole string of the format matches; nothing where the draft knows no such
// format, which then is a note.
std::optional<std::string_view> formatPattern(std::string_view format);

} // namespace sinter::grammar
