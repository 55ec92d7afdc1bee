// Built from the sorted tokens; what a subtree holds is summed from its end.
#include "grammar/token_trie.h"

#include "grammar/plain_tokens.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

size_t commonLength(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

} // namespace

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

// Ends of subtrees, from the last node back.
void TokenTrie::closeNodes() {
  std::vector<uint32_t> next(size_t{longest_} + 2, static_cast<uint32_t>(nodes_.size()));
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node &node = nodes_[i];
    uint32_t end = static_cast<uint32_t>(nodes_.size());
    for (uint32_t depth = 1; depth <= node.depth; ++depth)
      end = std::min(end, next[depth]);
    node.end = end;
    next[node.depth] = static_cast<uint32_t>(i);
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
  std::string_view before;
  for (const TokenBytes &token : sorted) {
    addNodes(token.bytes, std::exchange(before, token.bytes));
    Node &node = nodes_.back();
    tokens_.push_back(token.token);
    ++node.tokenCount;
    bytes_[token.token] = token.bytes;
    longest_ = std::max(longest_, static_cast<uint32_t>(token.bytes.size()));
  }
  closeNodes();
}

std::shared_ptr<const PlainTokens> TokenTrie::plainTokens(const CharacterSet &set) const {
  constexpr size_t kMostSets = 8; // each takes a megabyte where there are 128k tokens
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(plain_, [&](const auto &known) {
    return std::ranges::equal(known.first.ranges(), set.ranges());
  });
  if (found != plain_.end()) {
    plain_.splice(plain_.begin(), plain_, found);
  } else {
    plain_.emplace_front(set, std::make_shared<const PlainTokens>(*this, set));
    if (plain_.size() > kMostSets)
      plain_.pop_back();
  }
  return plain_.front().second;
}

std::optional<uint32_t> TokenTrie::longestAtStartOf(std::string_view text) const {
  std::optional<uint32_t> longest;
  size_t at = 0, end = nodes_.size();
  for (const char byte : text) {
    while (at < end && nodes_[at].byte != static_cast<uint8_t>(byte))
      at = nodes_[at].end; // its neighbour
    if (at >= end)
      break;
    if (nodes_[at].tokenCount > 0)
      longest = tokensOf(nodes_[at]).front();
    end = nodes_[at].end;
    ++at;
  }
  return longest;
}

} // namespace sinter::grammar
