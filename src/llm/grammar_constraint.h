// Answers held to a grammar.
#pragma once

#include "grammar/token_masks.h"
#include "llm/sampler/constraint.h"
#include "llm/tokenizer/tokenizer.h"

#include <memory>

namespace sinter {

// Tokens of text with their bytes. Control tokens, unknown ones and those that end answers are left
// out: no grammar can ask for them. `vocabulary` is the length of a row of logits.
std::shared_ptr<const grammar::TokenTrie> tokenTrieOf(const Tokenizer &tokenizer,
                                                      size_t vocabulary);

// A constraint for one answer; end tokens may come where the grammar's text may end. The tokenizer
// must outlive it. Errors: Automaton::create's.
Result<std::unique_ptr<TokenConstraint>>
constrainByGrammar(grammar::Grammar grammar, std::shared_ptr<const grammar::TokenTrie> trie,
                   const Tokenizer &tokenizer);

} // namespace sinter
