// The merge rules of a vocabulary, by the ids of the two sides.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/subword/merges.h"
#include "llm/tokenizer/vocabulary.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sinter {

// Rules may name texts that are no tokens, as some published vocabularies do: such a text takes
// part in merges by an id beyond the tokens'.
class MergeTable {
public:
  struct Options {
    size_t tokenCount = 0;
    size_t rightPrefix = 0; // bytes at the start of a right side that the result leaves out
    // A merge that would make such a token is left out: plain text must not become control tokens.
    std::function<bool(TokenId)> hidden;
  };

  MergeTable() = default;

  // `merges` are best first; of two equal ones the first counts. `index` has the tokens' texts and
  // must outlive the table. Unsupported for more merges than 32 bits count.
  static Result<MergeTable> create(std::span<const MergeText> merges, const TextIndex &index,
                                   const Options &options);

  std::optional<Merge> find(TokenId left, TokenId right) const;

  // The id of a text, which may be beyond the tokens'; below zero where no rule and no token has
  // it.
  TokenId symbolOf(std::string_view text) const;

  // What merges name or make without its being a token, in one line; empty where nothing is.
  const std::string &oddity() const { return oddity_; }

private:
  struct Rule {
    TokenId right;
    Merge merge;
  };
  void addExtras(std::span<const MergeText> merges, size_t tokenCount, size_t rightPrefix);

  const TextIndex *index_ = nullptr;
  std::vector<std::string> extraTexts_; // ascending; named by rules, but no tokens
  TokenId firstExtra_ = 0;
  std::vector<uint32_t> starts_; // of a left symbol's rules; one more than there are symbols
  std::vector<Rule> rules_;      // by left, then right
  std::string oddity_;
};

} // namespace sinter
