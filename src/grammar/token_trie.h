// The bytes of a vocabulary's tokens as a tree, so that tokens that begin alike are tried once.
#pragma once

#include "grammar/grammar.h"

#include <list>
#include <memory>
#include <mutex>

namespace sinter::grammar {

// A token by its bytes. Those that are never text, such as control tokens, are left out.
struct TokenBytes {
  uint32_t token;
  std::string_view bytes;
};

// Bits of tokens, the lowest first.
using TokenBits = std::vector<uint64_t>;

class PlainTokens;

// Const use is safe from several threads.
class TokenTrie {
public:
  // Tokens without bytes are left out. Every token is below `vocabulary`.
  TokenTrie(std::span<const TokenBytes> tokens, size_t vocabulary);

  // One byte; nodes are in the order of a walk that goes down before it goes on.
  struct Node {
    uint8_t byte = 0;
    uint16_t depth = 0; // bytes up to this one
    uint32_t end = 0;   // the node after the subtree
    uint32_t tokens = 0, tokenCount = 0;
  };
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const uint32_t> tokensOf(const Node &node) const {
    return std::span(tokens_).subspan(node.tokens, node.tokenCount);
  }
  // Tokens that are made of such characters; of the sets that were asked for last, made once.
  std::shared_ptr<const PlainTokens> plainTokens(const CharacterSet &set) const;
  // The longest token that `text` begins with, the lowest of equals.
  std::optional<uint32_t> longestAtStartOf(std::string_view text) const;
  std::string_view bytesOf(uint32_t token) const { return bytes_[token]; }
  size_t vocabulary() const { return bytes_.size(); }
  uint32_t longest() const { return longest_; } // in bytes

private:
  void addNodes(std::string_view bytes, std::string_view before);
  void closeNodes();

  std::vector<Node> nodes_;
  std::vector<uint32_t> tokens_;
  std::vector<std::string> bytes_; // by token
  uint32_t longest_ = 0;
  mutable std::mutex mutex_; // of all below
  mutable std::list<std::pair<CharacterSet, std::shared_ptr<const PlainTokens>>> plain_;
};

} // namespace sinter::grammar
