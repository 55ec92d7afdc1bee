// Marks in rendered conversations: where texts begin to differ, cut so that no tag is torn.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinter {

inline constexpr std::string_view kMarkSpace = " \t\r\n";

std::string_view trimLeft(std::string_view text);
std::string_view trim(std::string_view text);

// The longest common beginning or end that tears no tag of either text.
std::string_view commonBegin(std::string_view a, std::string_view b);
std::string_view commonEnd(std::string_view a, std::string_view b);

// White space and the tag that a text begins with: <...>, [...], three backquotes; else nothing.
// With more tags what lies between them on the line, too; nothing where there are fewer.
std::string_view firstMark(std::string_view text, int tags = 1);
// The tag, or the rest of the line, that a text ends with; white space at the end apart. More tags
// as above.
std::string_view lastMark(std::string_view text, int tags = 1);

// The object or list of JSON that begins at `at`; nothing where it has no end.
std::optional<std::string_view> bracketed(std::string_view text, size_t at);

} // namespace sinter
