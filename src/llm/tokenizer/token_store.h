// The tokens of a vocabulary, copied out of its file: texts, types, scores, and the bytes that each
// stands for.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/recipe.h"
#include "llm/tokenizer/vocabulary.h"

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// Views into it stay valid while it lives; it is not moved.
class TokenStore {
public:
  // Copies `texts`. Corrupt where one is there twice; empty ones are none.
  static Result<std::unique_ptr<TokenStore>> create(std::span<const std::string_view> texts);

  TokenStore() = default;
  TokenStore(const TokenStore &) = delete;
  TokenStore &operator=(const TokenStore &) = delete;

  // Puts down what each token stands for, of the types that were set.
  void spell(const TokenizerRecipe &recipe);

  // Keeps a text of another kind beside them.
  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  size_t size() const { return texts_.size(); }
  std::span<const std::string_view> texts() const { return texts_; }
  const TextIndex &index() const { return index_; }
  std::string_view piece(TokenId id) const { return pieces_[static_cast<size_t>(id)]; }
  std::span<const std::string> pieces() const { return pieces_; }

  std::vector<TokenType> types; // one for each token
  std::vector<double> scores;   // one for each token, or none

private:
  std::vector<char> bytes_;
  std::vector<std::string_view> texts_;
  TextIndex index_;
  std::vector<std::string> pieces_;
  std::deque<std::string> kept_;
};

} // namespace sinter
