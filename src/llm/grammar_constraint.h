// Answers held to a grammar.
#pragma once

#include "grammar/token_masks.h"
#include "llm/sampler/constraint.h"
#include "llm/tokenizer/tokenizer.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace sinter {

// How grammars write a control token: as bytes that no text has.
std::string controlSpelling(TokenId token);

// Tokens of text with their bytes, and control tokens with their controlSpelling(). Unknown tokens
// and those that end answers are left out: no grammar can ask for them. `vocabulary` is the
// length of a row of logits.
std::shared_ptr<const grammar::TokenTrie> tokenTrieOf(const Tokenizer &tokenizer,
                                                      size_t vocabulary);

// What grammars of a model may take together. Safe from several threads.
struct GrammarBudget {
  size_t mostBytes = size_t{512} << 20;
  // Beyond them, an answer ends whose own grammar takes more than this.
  size_t smallBytes = size_t{4} << 20;
  std::atomic<size_t> bytes = 0;
};

// A grammar for a vocabulary, with all that was made of it so far: the answers that are held to it
// share that. Safe from several threads.
class GrammarForm : public std::enable_shared_from_this<GrammarForm> {
public:
  // End tokens may come where the grammar's text may end. The tokenizer must outlive it and its
  // answers. Errors: Automaton::create's.
  static Result<std::shared_ptr<GrammarForm>>
  create(grammar::Grammar grammar, std::shared_ptr<const grammar::TokenTrie> trie,
         const Tokenizer &tokenizer,
         std::shared_ptr<GrammarBudget> budget = std::make_shared<GrammarBudget>());
  ~GrammarForm();

  // For one answer, which may outlive this object. What other answers made of the grammar changes
  // no mask, nor whether it is within its bounds.
  std::unique_ptr<TokenConstraint> constrain();

  // Of memory, about. Waits for no other call, nor does isWorn().
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Whether new answers should have a new one.
  bool isWorn() const { return isWorn_.load(std::memory_order_relaxed); }

private:
  friend class GrammarConstraint;
  GrammarForm(grammar::TokenMasks masks, const Tokenizer &tokenizer,
              std::shared_ptr<GrammarBudget> budget)
      : masks_(std::move(masks)), tokenizer_(tokenizer), budget_(std::move(budget)) {
    measure();
  }
  void measure();
  Result<void> checkBudget() const;
  std::vector<TokenId> tokensOf(std::string_view before, std::string_view text) const;
  // The same grammar, of which nothing is made.
  Result<std::shared_ptr<GrammarForm>> renewed() const;

  mutable std::mutex mutex_; // of masks_
  grammar::TokenMasks masks_;
  const Tokenizer &tokenizer_;
  const std::shared_ptr<GrammarBudget> budget_;
  std::atomic<size_t> bytes_ = 0;
  std::atomic<bool> isWorn_ = false;
};

} // namespace sinter
