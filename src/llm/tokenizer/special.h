// Finds tokens that stand in a text literally, such as <|im_start|>, before the text is split into
// words.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/vocabulary.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

// The special tokens of one vocabulary. The texts belong to the caller and must outlive it.
class SpecialTokens {
public:
  struct Entry {
    std::string_view text;
    TokenId id;
    bool markup; // found only where the text may hold markup; others are found everywhere
    TokenTraits traits = {}; // its id is not read
  };
  // A stretch of the text, from `begin` up to `end`.
  struct Range {
    size_t begin;
    size_t end;
  };
  struct Match {
    Range range; // with the white space beside it that the token takes along
    TokenId id;
  };

  // A longer text than this is refused, so that a search costs at most this much per byte.
  static constexpr size_t kMaxTextBytes = 512;

  SpecialTokens() = default;

  // Empty texts are never found. Unsupported for a text longer than kMaxTextBytes.
  static Result<SpecialTokens> create(std::vector<Entry> entries);

  // The first match at or after `from`; of several at one place the longest. A markup token must
  // lie inside one of the `markup` ranges, which ascend and do not touch. The published tokenizers
  // search this way. The text before `from` belongs to others.
  std::optional<Match> next(std::string_view text, size_t from,
                            std::span<const Range> markup) const;

private:
  struct Candidates {
    size_t begin;
    size_t end;
  };
  const Entry *longestAt(std::string_view text, size_t at, size_t markupEnd) const;

  std::vector<Entry> entries_;                // ascending by text
  std::array<Candidates, 256> byFirstByte_{}; // the entries that start with a byte
};

} // namespace sinter
