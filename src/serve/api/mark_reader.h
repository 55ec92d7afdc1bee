// Marks in text that comes in pieces.
#pragma once

#include <string_view>
#include <vector>

namespace sinter::serve {

struct MarkMatch {
  enum class Kind : uint8_t { No, Partial, Whole } kind = Kind::No;
  size_t bytes = 0; // of the text, where it is whole

  bool isWhole() const { return kind == Kind::Whole; }
  bool isPartial() const { return kind == Kind::Partial; }
};

// Whether the text begins with the mark. White space of the mark stands for any white space or
// none; white space before it in the text is passed over, that at its end is not asked for.
MarkMatch matchMark(std::string_view text, std::string_view mark);

// The longest end of the text that begins a mark but is not all of it, in bytes.
size_t heldBytes(std::string_view text, std::string_view mark);

// The mark's pieces between its white space.
std::vector<std::string_view> chunksOf(std::string_view mark);

} // namespace sinter::serve
