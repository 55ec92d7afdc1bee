// The bytes of a vocabulary's tokens as a tree, so that tokens that begin alike are tried once.
#pragma once

#include "grammar/grammar.h"

namespace sinter::grammar {

// A token by its bytes. Those that are never text, such as control tokens, are left out.
struct TokenBytes {
  uint32_t token;
  std::string_view bytes;
};

// Characters that a string of JSON may hold as they stand. Nearly all tokens are made of such.
const CharacterSet &plainCharacters();

// Bits of tokens, the lowest first.
using TokenBits = std::vector<uint64_t>;

// Const use is safe from several threads.
class TokenTrie {
public:
  // Plain tokens are told apart by their length in characters, up to this many.
  static constexpr uint32_t kMostPlain = 32;

  // Tokens without bytes are left out. Every token is below `vocabulary`.
  TokenTrie(std::span<const TokenBytes> tokens, size_t vocabulary);

  // One byte; nodes are in the order of a walk that goes down before it goes on.
  struct Node {
    uint8_t byte = 0;
    // Where all tokens of the subtree are plain, the most characters that one has; else more than
    // kMostPlain.
    uint8_t plain = 0;
    uint16_t depth = 0; // bytes up to this one
    uint32_t end = 0;   // the node after the subtree
    uint32_t tokens = 0, tokenCount = 0;
  };
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const uint32_t> tokensOf(const Node &node) const {
    return std::span(tokens_).subspan(node.tokens, node.tokenCount);
  }
  // Plain tokens of at most `characters` characters.
  const TokenBits &plainTokens(uint32_t characters) const { return plain_[characters]; }
  std::string_view bytesOf(uint32_t token) const { return bytes_[token]; }
  size_t vocabulary() const { return bytes_.size(); }
  uint32_t longest() const { return longest_; } // in bytes

private:
  void addNodes(std::string_view bytes, std::string_view before);
  void closeNodes();

  std::vector<Node> nodes_;
  std::vector<uint32_t> tokens_;
  std::vector<std::string> bytes_; // by token
  std::vector<TokenBits> plain_;   // by characters
  uint32_t longest_ = 0;
};

} // namespace sinter::grammar
