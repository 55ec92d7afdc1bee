// Tokens of a vocabulary that are made of characters of one set alone, told apart by their length.
#pragma once

#include "grammar/token_trie.h"

namespace sinter::grammar {

// Where a form takes any characters of a set, as within a string, these tokens need not be tried.
// Const use is safe from several threads.
class PlainTokens {
public:
  // Lengths in characters, up to this many, are told apart.
  static constexpr uint32_t kMost = 32;

  PlainTokens(const TokenTrie &trie, const CharacterSet &set);

  // Those of at most `characters` characters.
  const TokenBits &upTo(uint32_t characters) const { return bits_[characters]; }
  // The tree of all other tokens: its nodes are as TokenTrie's, and so are their tokens.
  std::span<const TokenTrie::Node> rest() const { return rest_; }
  size_t bytes() const {
    return bits_.size() * bits_[0].size() * 8 + rest_.size() * sizeof(rest_[0]);
  }

private:
  void addRest(const TokenTrie &trie, const std::vector<bool> &isRest);

  std::vector<TokenBits> bits_; // by characters
  std::vector<TokenTrie::Node> rest_;
};

} // namespace sinter::grammar
