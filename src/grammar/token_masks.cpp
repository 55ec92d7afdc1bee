// A mask is a walk over the tree of tokens, the same for states that are alike as far as the
// longest token goes. Where any characters of a set fit, as within a string, tokens of them alone
// are taken from a ready set, and the walk sees the few others.
#include "grammar/token_masks.h"

#include <algorithm>

namespace sinter::grammar {

Result<const SetStep *> TokenMasks::stepOf(StateId state, uint32_t set) {
  if (const auto found = steps_.find(state.index);
      found != steps_.end() && found->second.set == set)
    return &found->second;
  SINTER_ASSIGN(const SetStep step, automaton_->afterSet(state, set));
  return &(steps_[state.index] = step);
}

Result<TokenMasks::Run> TokenMasks::runOf(StateId state) {
  Run run;
  const std::optional<uint32_t> set = automaton_->widestSet(state);
  if (!set)
    return run;
  run.set = *set;
  run.isExact = true;
  while (run.length < PlainTokens::kMost) {
    SINTER_ASSIGN(const SetStep *step, stepOf(state, *set));
    run.isExact = run.isExact && step->isOnly;
    if (step->after == kDead)
      return run;
    ++run.length;
    SINTER_ASSIGN(const StateId after, automaton_->alike(step->after));
    if (after == state) { // for ever so, as far as tokens go
      run.length = PlainTokens::kMost;
      break;
    }
    state = after;
  }
  run.isExact = true; // longer tokens are among the rest
  return run;
}

const PlainTokens &TokenMasks::plainTokens(uint32_t set) {
  std::shared_ptr<const PlainTokens> &made = plain_[set];
  if (!made)
    made = trie_->plainTokens(automaton_->setNumber(set));
  return *made;
}

Result<const Automaton::Row *> TokenMasks::rowOf(StateId state) {
  SINTER_ASSIGN(const StateId alike, automaton_->alike(state));
  return automaton_->row(alike);
}

Result<void> TokenMasks::walk(std::span<const TokenTrie::Node> nodes, StateId state,
                              TokenBits &bits) {
  path_.resize(size_t{trie_->longest()} + 1);
  SINTER_ASSIGN(path_[0], rowOf(state));
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node &node = nodes[i];
    const StateId next = (*path_[node.depth - 1])[node.byte];
    if (next == kDead) {
      i = node.end;
      continue;
    }
    for (const uint32_t token : trie_->tokensOf(node))
      bits[token / 64] |= uint64_t{1} << token % 64;
    if (node.end > ++i) {
      SINTER_ASSIGN(path_[node.depth], rowOf(next));
    }
  }
  return {};
}

// Ready sets cost time and memory, so there are none of a few characters, and not of many sets.
bool TokenMasks::isWorthReady(const Run &run) const {
  constexpr uint32_t kLeastRun = 4;
  constexpr size_t kLeastSize = 16, kWide = 0x1000, kMostWide = 12, kMostNarrow = 6;
  if (plain_.contains(run.set))
    return true;
  const size_t size = run.length < kLeastRun ? 0 : automaton_->setNumber(run.set).size();
  return size >= kLeastSize && plain_.size() < (size >= kWide ? kMostWide : kMostNarrow);
}

Result<void> TokenMasks::fill(StateId state, TokenBits &bits) {
  SINTER_ASSIGN(const Run run, runOf(state));
  if (run.isExact && isWorthReady(run)) {
    const PlainTokens &plain = plainTokens(run.set);
    bits = plain.upTo(run.length);
    return walk(plain.rest(), state, bits);
  }
  bits.assign((trie_->vocabulary() + 63) / 64, 0);
  return walk(trie_->nodes(), state, bits);
}

Result<std::shared_ptr<const TokenBits>> TokenMasks::maskOf(StateId exact) {
  SINTER_ASSIGN(const StateId state, automaton_->alike(exact));
  if (const auto found = maskNumbers_.find(state.index); found != maskNumbers_.end()) {
    masks_.splice(masks_.begin(), masks_, found->second);
    return masks_.front().second;
  }
  auto bits = std::make_shared<TokenBits>();
  SINTER_TRY(fill(state, *bits));
  if (automaton_->accepts(state))
    for (const uint32_t end : ends_)
      (*bits)[end / 64] |= uint64_t{1} << end % 64;
  if (masks_.size() == kMostMasks) {
    maskNumbers_.erase(masks_.back().first.index);
    masks_.pop_back();
  }
  masks_.emplace_front(state, bits);
  maskNumbers_[state.index] = masks_.begin();
  return bits;
}

size_t TokenMasks::bytes() const {
  size_t bytes = automaton_->bytes() + masks_.size() * trie_->vocabulary() / 8 +
                 steps_.size() * 4 * sizeof(SetStep);
  for (const auto &[set, plain] : plain_)
    bytes += plain->bytes();
  return bytes;
}

} // namespace sinter::grammar
