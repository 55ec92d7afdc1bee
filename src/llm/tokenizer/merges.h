// Byte-pair encoding of one word: the merges of a vocabulary, applied best first.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/vocabulary.h"

#include <functional>
#include <queue>
#include <span>
#include <string_view>
#include <vector>

namespace sinter {

// The merge rules of one vocabulary.
class MergeTable {
public:
  struct Merge {
    uint32_t rank; // lower is applied first
    TokenId result;
  };

  MergeTable() = default;

  // `merges` are "left right" pairs, best first; of two equal ones the first counts. Corrupt,
  // naming the merge, where it is no pair or where it or its result is no token of `index`, whose
  // ids lie below `tokenCount`. A merge that would make a `hidden` token is left out, because plain
  // text must not turn into control tokens.
  static Result<MergeTable> create(std::span<const std::string_view> merges, const TextIndex &index,
                                   size_t tokenCount, const std::function<bool(TokenId)> &hidden);

  std::optional<Merge> find(TokenId left, TokenId right) const;

private:
  struct Rule {
    TokenId right;
    Merge merge;
  };
  std::vector<uint32_t> starts_; // of a left token's rules; one more than there are tokens
  std::vector<Rule> rules_;      // by left, then right
};

// The working memory of merging, reused from word to word. Not for several threads at once.
class WordMerger {
public:
  // Merges neighbours in `symbols` by rank, the leftmost first among equals, until no rule applies.
  // Symbols below zero take part in no merge. Takes n log n steps.
  void merge(const MergeTable &table, std::vector<TokenId> &symbols);

private:
  struct Candidate {
    uint32_t rank;
    uint32_t left; // position of the left symbol
    TokenId leftId, rightId, result;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void consider(const MergeTable &table, const std::vector<TokenId> &symbols, uint32_t left);

  std::vector<uint32_t> previous_, next_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

} // namespace sinter
