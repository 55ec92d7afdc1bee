// Formats of strings that JSON Schema names, as regular expressions.
#pragma once

#include <optional>
#include <string_view>

namespace sinter::grammar {

// The expression that a whole string of the format matches; nothing where it is not known.
std::optional<std::string_view> formatPattern(std::string_view format);
// Names of the known ones, with commas between.
std::string_view formatNames();

// Whether the draft knows the format, so that it means something to validators.
bool isFormatOfDraft(std::string_view format);

} // namespace sinter::grammar
