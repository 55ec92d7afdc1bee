// SentencePiece's compiled normalization rules: a trie of texts, each with its replacement.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// The format: a 32-bit count of bytes, so many bytes of a double-array trie in units of 32 bits
// (darts-clone), then the replacements, each ended by a zero byte. All is little-endian. A unit has
// its label in bits 0 to 7, bit 8 says that a value follows, bit 9 that the offset in bits 10 to 30
// counts by 256; bit 31 marks a value, an offset into the replacements.
class Charsmap {
public:
  // Copies and checks. Corrupt where the bytes are cut or a value lies outside. Empty bytes replace
  // nothing.
  static Result<Charsmap> create(std::string_view bytes);

  // `text` with every longest match replaced, from the left. It must be valid UTF-8. Exhausted
  // where the result has more than `mostBytes`.
  Result<std::string> apply(std::string_view text, size_t mostBytes) const;

private:
  struct Match {
    size_t length = 0; // bytes of the text; 0: none
    std::string_view replacement;
  };
  Match longestMatch(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

} // namespace sinter
