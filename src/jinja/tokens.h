// A template cut into text and the tokens of its tags.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jinja {

struct Token {
  enum class Kind : uint8_t {
    Data, // text outside of tags, as it renders
    OutputBegin,
    OutputEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String, // without quotes and escapes
    Integer,
    Float,
    Operator,
    End,
  };
  Kind kind;
  std::string text;
  uint32_t offset; // in the source
  int64_t integer = 0;
  double real = 0;
};

// The source with \n for each line break and without one at its end, as Jinja reads it.
std::string withPlainNewlines(std::string_view source);

// The tokens of such a source, comments left out, an End last. White space follows the settings
// that chat templates are published for: trim_blocks and lstrip_blocks on, '-' and '+' obeyed.
// Corrupt, with the byte: a tag, comment, string or raw block does not end, a bracket has no
// partner, a character begins no token.
Result<std::vector<Token>> tokensOf(std::string_view source);

} // namespace sinter::jinja
