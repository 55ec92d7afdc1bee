// Finds the entries with which a text begins: a sorted list, narrowed byte by byte.
#pragma once

#include "llm/tokenizer/vocabulary.h"

#include <array>
#include <string_view>
#include <vector>

namespace sinter {

// Sorted rather than hashed, so that no choice of strings makes it slow. The strings belong to the
// caller and must outlive it.
class PrefixIndex {
public:
  struct Entry {
    std::string_view text;
    TokenId id;
  };
  struct Match {
    size_t length; // bytes
    TokenId id;
  };

  PrefixIndex() = default;
  // Empty texts are left out.
  explicit PrefixIndex(std::vector<Entry> entries);

  // Calls `visit(Match)` for each entry with which `text` begins, shortest first. Takes as many
  // steps as the longest of them has bytes.
  template <typename Visit> void eachPrefix(std::string_view text, Visit visit) const {
    if (text.empty())
      return;
    Range range = byFirstByte_[static_cast<uint8_t>(text[0])];
    for (size_t length = 1; range.begin < range.end; ++length) {
      // All of the range share the first `length` bytes of the text; an exact one sorts first.
      const Entry &first = entries_[range.begin];
      if (first.text.size() == length) {
        visit(Match{length, first.id});
        ++range.begin;
      }
      if (length >= text.size())
        return;
      range = narrowed(range, length, static_cast<uint8_t>(text[length]));
    }
  }

  // The longest entry with which `text` begins; length 0 where there is none.
  Match longest(std::string_view text) const {
    Match best{0, -1};
    eachPrefix(text, [&](Match match) { best = match; });
    return best;
  }

private:
  struct Range {
    size_t begin;
    size_t end;
  };
  Range narrowed(Range range, size_t at, uint8_t byte) const;

  std::vector<Entry> entries_; // ascending by text, each text once
  std::array<Range, 256> byFirstByte_{};
};

} // namespace sinter
