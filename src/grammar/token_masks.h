// Which tokens may come next, for one grammar and one vocabulary.
#pragma once

#include "grammar/automaton.h"
#include "grammar/token_trie.h"

#include <list>

namespace sinter::grammar {

// Keeps the masks it made, the last kMostMasks of them. Borrows the tree. For one thread.
class TokenMasks {
public:
  static constexpr size_t kMostMasks = 256;

  TokenMasks(std::unique_ptr<Automaton> automaton, std::shared_ptr<const TokenTrie> trie)
      : automaton_(std::move(automaton)), trie_(std::move(trie)) {}

  Automaton &automaton() { return *automaton_; }
  const TokenTrie &trie() const { return *trie_; }

  // Tokens after which the text can still be finished; end tokens are not among them. Valid until
  // the next call. Errors: Automaton::row's.
  Result<const TokenBits *> maskOf(StateId state);
  // The state after a token; dead where it does not fit.
  Result<StateId> after(StateId state, uint32_t token) {
    return automaton_->next(state, trie_->bytesOf(token));
  }

private:
  Result<void> fill(StateId state, TokenBits &bits);
  Result<const std::vector<StateId> *> afterPlain(StateId state);
  Result<uint32_t> plainDepth(StateId state);

  std::unique_ptr<Automaton> automaton_;
  std::shared_ptr<const TokenTrie> trie_;
  std::list<std::pair<StateId, TokenBits>> masks_; // the one used last is first
  std::unordered_map<uint32_t, decltype(masks_)::iterator> maskNumbers_;
  // By state: those after any one plain character, kDead among them where one does not fit.
  std::unordered_map<uint32_t, std::vector<StateId>> afterPlain_;
  std::vector<StateId> path_; // by depth in the tree
};

} // namespace sinter::grammar
