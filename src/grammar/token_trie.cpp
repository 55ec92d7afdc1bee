// Built from the sorted tokens; what a subtree holds is summed from its end.
#include "grammar/token_trie.h"

#include "grammar/utf8_reader.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

constexpr uint8_t kNotPlain = TokenTrie::kMostPlain + 1;

// Characters of a text that is plain throughout; kNotPlain where it is not, or has more.
uint8_t plainLength(std::string_view bytes) {
  PartialCode partial;
  uint8_t count = 0;
  for (const char byte : bytes) {
    const auto read = partial.read(static_cast<uint8_t>(byte), plainCharacters());
    if (!read)
      return kNotPlain;
    partial = read->isWhole() ? PartialCode() : *read;
    if (read->isWhole() && ++count == kNotPlain)
      return kNotPlain;
  }
  return partial.begun() ? kNotPlain : count;
}

size_t commonLength(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

void setBit(TokenBits &bits, uint32_t token) {
  bits[token / 64] |= uint64_t{1} << token % 64;
}

} // namespace

const CharacterSet &plainCharacters() {
  static const CharacterSet set({{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x10FFFF}});
  return set;
}

// The nodes of `bytes` that it does not share with the token before it.
void TokenTrie::addNodes(std::string_view bytes, std::string_view before) {
  for (size_t i = commonLength(bytes, before); i < bytes.size(); ++i) {
    Node node;
    node.byte = static_cast<uint8_t>(bytes[i]);
    node.depth = static_cast<uint16_t>(i + 1);
    node.tokens = static_cast<uint32_t>(tokens_.size());
    nodes_.push_back(node);
  }
}

// Ends of subtrees and their plain lengths, from the last node back.
void TokenTrie::closeNodes() {
  std::vector<uint32_t> next(size_t{longest_} + 2, static_cast<uint32_t>(nodes_.size()));
  std::vector<uint8_t> plain(size_t{longest_} + 2, 0); // of the open subtree by its depth
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node &node = nodes_[i];
    uint32_t end = static_cast<uint32_t>(nodes_.size());
    for (uint32_t depth = 1; depth <= node.depth; ++depth)
      end = std::min(end, next[depth]);
    node.end = end;
    next[node.depth] = static_cast<uint32_t>(i);
    const uint8_t below = std::exchange(plain[node.depth + 1], 0);
    node.plain = std::max(node.plain, below);
    plain[node.depth] = std::max(plain[node.depth], node.plain);
  }
}

TokenTrie::TokenTrie(std::span<const TokenBytes> tokens, size_t vocabulary) : bytes_(vocabulary) {
  constexpr size_t kMostBytes = UINT16_MAX; // longer ones cannot be chosen
  std::vector<TokenBytes> sorted;
  for (const TokenBytes &token : tokens)
    if (!token.bytes.empty() && token.bytes.size() < kMostBytes)
      sorted.push_back(token);
  std::sort(sorted.begin(), sorted.end(), [](const TokenBytes &a, const TokenBytes &b) {
    return std::pair(a.bytes, a.token) < std::pair(b.bytes, b.token);
  });
  plain_.assign(kMostPlain + 1, TokenBits((vocabulary + 63) / 64));
  std::string_view before;
  for (const TokenBytes &token : sorted) {
    addNodes(token.bytes, std::exchange(before, token.bytes));
    Node &node = nodes_.back();
    tokens_.push_back(token.token);
    ++node.tokenCount;
    node.plain = plainLength(token.bytes);
    for (uint32_t most = node.plain; most <= kMostPlain; ++most)
      setBit(plain_[most], token.token);
    bytes_[token.token] = token.bytes;
    longest_ = std::max(longest_, static_cast<uint32_t>(token.bytes.size()));
  }
  closeNodes();
}

} // namespace sinter::grammar
