// A mask is a walk over the tree of tokens. Where any short run of plain characters fits, as within
// a string, tokens of them alone are taken from a ready set, and the walk sees the few others.
#include "grammar/token_masks.h"

#include "grammar/utf8_reader.h"

#include <algorithm>

namespace sinter::grammar {
namespace {

void addState(std::vector<StateId> &states, StateId state) {
  if (std::ranges::find(states, state) == states.end())
    states.push_back(state);
}

} // namespace

// A plain character's bytes lead through states that are told apart by what was read, too.
Result<const std::vector<StateId> *> TokenMasks::afterPlain(StateId state) {
  if (const auto found = afterPlain_.find(state.index); found != afterPlain_.end())
    return &found->second;
  std::vector<StateId> after;
  std::vector<std::pair<StateId, PartialCode>> open{{state, PartialCode()}};
  std::map<std::pair<uint32_t, uint32_t>, bool> met;
  while (!open.empty()) {
    const auto [at, partial] = open.back();
    open.pop_back();
    SINTER_ASSIGN(const Automaton::Row *row, automaton_->row(at));
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto read = partial.read(static_cast<uint8_t>(byte), plainCharacters());
      if (!read)
        continue;
      const StateId next = (*row)[byte];
      if (read->isWhole() || next == kDead)
        addState(after, next);
      else if (const PartialCode left = read->generalized(plainCharacters());
               !std::exchange(met[{next.index, left.number()}], true))
        open.emplace_back(next, left);
    }
    if (std::ranges::find(after, kDead) != after.end())
      break;
  }
  return &afterPlain_.emplace(state.index, std::move(after)).first->second;
}

// How many plain characters fit from here, whichever they are; at most TokenTrie::kMostPlain.
Result<uint32_t> TokenMasks::plainDepth(StateId state) {
  std::vector<StateId> level{state};
  for (uint32_t depth = 0; depth < TokenTrie::kMostPlain; ++depth) {
    std::vector<StateId> next;
    for (const StateId at : level) {
      SINTER_ASSIGN(const std::vector<StateId> *after, afterPlain(at));
      for (const StateId one : *after)
        addState(next, one);
    }
    if (std::ranges::find(next, kDead) != next.end())
      return depth;
    if (next == level) // for ever so
      break;
    level = std::move(next);
  }
  return TokenTrie::kMostPlain;
}

Result<void> TokenMasks::fill(StateId state, TokenBits &bits) {
  SINTER_ASSIGN(const uint32_t plainFit, plainDepth(state));
  bits = trie_->plainTokens(plainFit);
  path_.assign(size_t{trie_->longest()} + 1, state);
  const std::span<const TokenTrie::Node> nodes = trie_->nodes();
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node &node = nodes[i];
    if (node.plain <= plainFit) {
      i = node.end;
      continue;
    }
    SINTER_ASSIGN(const Automaton::Row *row, automaton_->row(path_[node.depth - 1]));
    const StateId next = (*row)[node.byte];
    if (next == kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = next;
    for (const uint32_t token : trie_->tokensOf(node))
      bits[token / 64] |= uint64_t{1} << token % 64;
    ++i;
  }
  return {};
}

Result<const TokenBits *> TokenMasks::maskOf(StateId state) {
  if (const auto found = maskNumbers_.find(state.index); found != maskNumbers_.end()) {
    masks_.splice(masks_.begin(), masks_, found->second);
    return &masks_.front().second;
  }
  TokenBits bits;
  if (masks_.size() == kMostMasks) { // its memory is used again
    bits = std::move(masks_.back().second);
    maskNumbers_.erase(masks_.back().first.index);
    masks_.pop_back();
  }
  SINTER_TRY(fill(state, bits));
  masks_.emplace_front(state, std::move(bits));
  maskNumbers_[state.index] = masks_.begin();
  return &masks_.front().second;
}

} // namespace sinter::grammar
