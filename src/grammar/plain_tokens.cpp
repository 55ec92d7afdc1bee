// Each token is looked at once; the rest keeps the nodes that lead to one of its tokens.
#include "grammar/plain_tokens.h"

#include "grammar/utf8_reader.h"

namespace sinter::grammar {
namespace {

constexpr uint32_t kNotPlain = PlainTokens::kMost + 1;

// Characters of a text that are all of the set; kNotPlain where one is not, or there are more.
uint32_t plainLength(std::string_view bytes, const CharacterSet &set,
                     const std::array<bool, 128> &ascii) {
  PartialCode partial;
  uint32_t count = 0;
  for (const char one : bytes) {
    const auto byte = static_cast<uint8_t>(one);
    if (byte < ascii.size() && !partial.begun()) {
      if (!ascii[byte] || ++count == kNotPlain)
        return kNotPlain;
      continue;
    }
    const auto read = partial.read(byte, set);
    if (!read)
      return kNotPlain;
    partial = read->isWhole() ? PartialCode() : *read;
    if (read->isWhole() && ++count == kNotPlain)
      return kNotPlain;
  }
  return partial.begun() ? kNotPlain : count;
}

} // namespace

PlainTokens::PlainTokens(const TokenTrie &trie, const CharacterSet &set)
    : bits_(kMost + 1, TokenBits((trie.vocabulary() + 63) / 64)) {
  std::array<bool, 128> ascii{};
  for (char32_t code = 0; code < ascii.size(); ++code)
    ascii[code] = set.contains(code);
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  std::vector<bool> isRest(nodes.size());
  std::vector<size_t> path(size_t{trie.longest()} + 1); // nodes by their depth
  for (size_t i = 0; i < nodes.size(); ++i) {
    path[nodes[i].depth] = i;
    if (nodes[i].tokenCount == 0)
      continue;
    const std::span<const uint32_t> tokens = trie.tokensOf(nodes[i]);
    const uint32_t length = plainLength(trie.bytesOf(tokens.front()), set, ascii);
    if (length == kNotPlain)
      for (size_t depth = nodes[i].depth; depth > 0 && !isRest[path[depth]]; --depth)
        isRest[path[depth]] = true;
    else
      for (const uint32_t token : tokens)
        bits_[length][token / 64] |= uint64_t{1} << token % 64;
  }
  for (uint32_t length = 1; length <= kMost; ++length)
    for (size_t word = 0; word < bits_[length].size(); ++word)
      bits_[length][word] |= bits_[length - 1][word];
  addRest(trie, isRest);
}

void PlainTokens::addRest(const TokenTrie &trie, const std::vector<bool> &isRest) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  std::vector<uint32_t> before(nodes.size() + 1); // kept nodes
  for (size_t i = 0; i < nodes.size(); ++i)
    before[i + 1] = before[i] + isRest[i];
  for (size_t i = 0; i < nodes.size(); ++i)
    if (isRest[i]) {
      rest_.push_back(nodes[i]);
      rest_.back().end = before[nodes[i].end];
    }
}

} // namespace sinter::grammar
