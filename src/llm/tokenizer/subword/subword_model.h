// Subword models: words in, tokens out. One file an algorithm; all behind one interface.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/pretokenizer.h"
#include "llm/tokenizer/recipe.h"
#include "llm/tokenizer/vocabulary.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// A prompt in tokens, and what of it the tokens do not hold.
struct Encoding {
  std::vector<TokenId> ids;
  uint64_t replacedBytes = 0; // not UTF-8; each became U+FFFD
  uint64_t droppedBytes = 0;  // the vocabulary has no token for them, not even an unknown one
};

// Turns words into tokens. Const use is safe from several threads.
class SubwordModel {
public:
  virtual ~SubwordModel() = default;

  // Appends the tokens of all words. Takes n log n steps in the bytes of a word, times the length
  // of the longest token.
  virtual void encode(const Words &words, Encoding &out) const = 0;
};

// The tokens that a subword model may make, as the tokenizer knows them. All of it outlives the
// model.
struct TokenTable {
  std::span<const std::string_view> texts; // as the vocabulary spells them
  std::span<const TokenType> types;
  std::span<const double> scores; // one for each token, or none
  const TextIndex *index;         // by text
  std::optional<TokenId> unknown;

  // Whether plain text may become this token: no control, unknown or byte token. Unused ones may
  // be made, as SentencePiece does.
  bool isPlain(TokenId id) const {
    const TokenType type = types[static_cast<size_t>(id)];
    return type != TokenType::Control && type != TokenType::Unknown && type != TokenType::Byte;
  }
};

// What becomes of characters without a token: tokens of their bytes, or one that says unknown.
class Fallback {
public:
  // `spelling` says how a byte's own token is spelled.
  Fallback(const TokenTable &tokens, const TokenizerRecipe &recipe);

  // `wordBegin`: how many tokens `out` had before the word.
  void append(std::string_view bytes, size_t wordBegin, Encoding &out) const;

  TokenId tokenOf(uint8_t byte) const { return byteTokens_[byte]; }

private:
  std::array<TokenId, 256> byteTokens_{}; // below zero where there is none
  std::optional<TokenId> unknown_;
  bool fusesUnknown_;
};

using MadeModel = Result<std::unique_ptr<SubwordModel>>;

// `note` gets what is odd about the vocabulary but no error. Corrupt or Unsupported where the model
// cannot be made of it.
using NoteWarning = std::function<void(std::string)>;
MadeModel makeMergeRanks(const TokenTable &tokens, std::span<const MergeText> merges,
                         const TokenizerRecipe &recipe, const NoteWarning &note);
MadeModel makeMergeScores(const TokenTable &tokens, const TokenizerRecipe &recipe);
MadeModel makeUnigram(const TokenTable &tokens, const TokenizerRecipe &recipe);
MadeModel makeWordPiece(const TokenTable &tokens, const TokenizerRecipe &recipe);
MadeModel makeWordLevel(const TokenTable &tokens, const TokenizerRecipe &recipe);
MadeModel makeLongestMatch(const TokenTable &tokens, std::span<const std::string> pieces);
MadeModel makePlamo2(const TokenTable &tokens);

} // namespace sinter
