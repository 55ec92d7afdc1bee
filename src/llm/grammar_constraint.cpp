// A grammar's state, moved along by the tokens of an answer.
#include "llm/grammar_constraint.h"

#include "llm/generation.h"

#include <algorithm>

namespace sinter {
namespace {

using grammar::StateId;
using grammar::TokenBits;

void setBit(TokenBits &bits, TokenId token) {
  bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << token % 64;
}

class GrammarConstraint : public TokenConstraint {
public:
  GrammarConstraint(grammar::TokenMasks masks, std::vector<TokenId> ends)
      : masks_(std::move(masks)), ends_(std::move(ends)), state_(masks_.automaton().start()) {}

  Result<std::span<const uint64_t>> allowed() override {
    SINTER_ASSIGN(const TokenBits *bits, masks_.maskOf(state_));
    if (!masks_.automaton().accepts(state_))
      return *bits;
    withEnds_ = *bits;
    for (const TokenId end : ends_)
      setBit(withEnds_, end);
    return withEnds_;
  }

  Result<void> accept(TokenId token) override {
    if (std::ranges::binary_search(ends_, token))
      return {};
    SINTER_ASSIGN(state_, masks_.after(state_, static_cast<uint32_t>(token)));
    if (state_ == grammar::kDead)
      return fail(Code::Internal, "token " + std::to_string(token) + " is not of the grammar");
    return {};
  }

private:
  grammar::TokenMasks masks_;
  std::vector<TokenId> ends_; // ascending
  StateId state_;
  TokenBits withEnds_;
};

} // namespace

std::shared_ptr<const grammar::TokenTrie> tokenTrieOf(const Tokenizer &tokenizer,
                                                      size_t vocabulary) {
  std::vector<grammar::TokenBytes> tokens;
  for (TokenId id = 0; static_cast<size_t>(id) < vocabulary && tokenizer.contains(id); ++id) {
    const TokenType type = tokenizer.type(id);
    const bool isText = type == TokenType::Normal || type == TokenType::UserDefined ||
                        type == TokenType::Byte;
    if (isText && !endsAnswer(tokenizer, id))
      tokens.push_back({static_cast<uint32_t>(id), tokenizer.piece(id)});
  }
  return std::make_shared<grammar::TokenTrie>(tokens, vocabulary);
}

Result<std::unique_ptr<TokenConstraint>>
constrainByGrammar(grammar::Grammar grammar, std::shared_ptr<const grammar::TokenTrie> trie,
                   const Tokenizer &tokenizer) {
  std::vector<TokenId> ends;
  for (TokenId id = 0; static_cast<size_t>(id) < trie->vocabulary(); ++id)
    if (endsAnswer(tokenizer, id))
      ends.push_back(id);
  SINTER_ASSIGN(std::unique_ptr<grammar::Automaton> automaton,
                grammar::Automaton::create(std::move(grammar)));
  grammar::TokenMasks masks(std::move(automaton), std::move(trie));
  return std::make_unique<GrammarConstraint>(std::move(masks), std::move(ends));
}

} // namespace sinter
