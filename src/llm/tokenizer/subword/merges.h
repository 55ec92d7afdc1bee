// Joins neighbouring symbols of a word, best first: the core of byte-pair encoding.
#pragma once

#include "llm/tokenizer/vocabulary.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

namespace sinter {

// What two neighbours may become.
struct Merge {
  uint32_t rank; // lower is applied first
  TokenId result;
};

// One symbol of a word: a token, or a character without one (an id below zero).
struct WordSymbol {
  TokenId id;
  uint32_t begin; // in the word, bytes
  uint32_t end;
};

// The working memory of merging, reused from word to word. Not for several threads at once.
class WordMerger {
public:
  // Merges neighbours in `symbols`, the best rank first and the leftmost among equals, until
  // `rules(left, right)` has no Merge for any two. Takes n log n steps.
  template <typename Rules> void merge(std::vector<WordSymbol> &symbols, const Rules &rules);

private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  struct Candidate {
    uint32_t rank;
    uint32_t left; // position of the left symbol
    TokenId leftId, rightId, result;
    bool operator>(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  template <typename Rules>
  void consider(const std::vector<WordSymbol> &symbols, const Rules &rules, uint32_t left) {
    if (left == kNone || next_[left] == kNone)
      return;
    const WordSymbol &a = symbols[left], &b = symbols[next_[left]];
    if (const std::optional<Merge> merge = rules(a, b))
      queue_.push({merge->rank, left, a.id, b.id, merge->result});
  }

  std::vector<uint32_t> previous_, next_;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue_;
};

template <typename Rules>
void WordMerger::merge(std::vector<WordSymbol> &symbols, const Rules &rules) {
  const auto count = static_cast<uint32_t>(symbols.size());
  previous_.resize(count);
  next_.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    previous_[i] = i ? i - 1 : kNone;
    next_[i] = i + 1 < count ? i + 1 : kNone;
  }
  for (uint32_t i = 0; i + 1 < count; ++i)
    consider(symbols, rules, i);
  while (!queue_.empty()) {
    const Candidate best = queue_.top();
    queue_.pop();
    WordSymbol &left = symbols[best.left];
    const uint32_t right = next_[best.left];
    // Either side may have been merged with another neighbour since the candidate was queued; a
    // merged symbol never has the id that it had.
    if (left.begin == left.end || left.id != best.leftId || right == kNone ||
        symbols[right].id != best.rightId)
      continue;
    left.id = best.result;
    left.end = symbols[right].end;
    symbols[right].begin = symbols[right].end; // swallowed
    next_[best.left] = next_[right];
    if (next_[right] != kNone)
      previous_[next_[right]] = best.left;
    consider(symbols, rules, previous_[best.left]);
    consider(symbols, rules, best.left);
  }
  std::erase_if(symbols, [](const WordSymbol &symbol) { return symbol.begin == symbol.end; });
}

} // namespace sinter
