// Which tokens may come next, for one grammar and one vocabulary.
#pragma once

#include "grammar/automaton.h"
#include "grammar/plain_tokens.h"

#include <list>

namespace sinter::grammar {

// Keeps the masks it made, the last kMostMasks of them. For one thread.
class TokenMasks {
public:
  static constexpr size_t kMostMasks = 256;

  // `ends`: tokens that end a text.
  TokenMasks(std::unique_ptr<Automaton> automaton, std::shared_ptr<const TokenTrie> trie,
             std::vector<uint32_t> ends = {})
      : automaton_(std::move(automaton)), trie_(std::move(trie)), ends_(std::move(ends)) {
    automaton_->lookAhead(trie_->longest() + 1);
  }

  Automaton &automaton() { return *automaton_; }
  const Automaton &automaton() const { return *automaton_; }
  const TokenTrie &trie() const { return *trie_; }
  const std::shared_ptr<const TokenTrie> &sharedTrie() const { return trie_; }
  std::span<const uint32_t> ends() const { return ends_; }
  // Of memory, about; the tree is others'.
  size_t bytes() const;

  // Tokens after which the text can still be finished; where it may end here, end tokens too.
  // Errors: Automaton::row's.
  Result<std::shared_ptr<const TokenBits>> maskOf(StateId state);
  // The state after a token; dead where it does not fit.
  Result<StateId> after(StateId state, uint32_t token) {
    return automaton_->next(state, trie_->bytesOf(token));
  }

private:
  // Characters of a set that fit one after the other, whichever they are.
  struct Run {
    uint32_t set = 0;
    uint32_t length = 0;  // at most PlainTokens::kMost
    bool isExact = false; // no more of them fit
  };
  Result<void> fill(StateId state, TokenBits &bits);
  Result<Run> runOf(StateId state);
  bool isWorthReady(const Run &run) const;
  Result<const SetStep *> stepOf(StateId state, uint32_t set);
  Result<const Automaton::Row *> rowOf(StateId state);
  Result<void> walk(std::span<const TokenTrie::Node> nodes, StateId state, TokenBits &bits);
  const PlainTokens &plainTokens(uint32_t set);

  std::unique_ptr<Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::vector<uint32_t> ends_;
  std::list<std::pair<StateId, std::shared_ptr<const TokenBits>>>
      masks_; // the one used last is first
  std::unordered_map<uint32_t, decltype(masks_)::iterator> maskNumbers_;
  std::unordered_map<uint32_t, SetStep> steps_; // by state, of its widest set
  std::unordered_map<uint32_t, std::shared_ptr<const PlainTokens>> plain_; // by set
  std::vector<const Automaton::Row *> path_;                               // by depth in the tree
};

} // namespace sinter::grammar
