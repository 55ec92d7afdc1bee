// Tokenizers, built from a model file's own vocabulary: special tokens first, then normalizers,
// then splits into words, then a subword model.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/end_tokens.h"
#include "llm/tokenizer/normalizer.h"
#include "llm/tokenizer/pretokenizer.h"
#include "llm/tokenizer/recipe_for_kind.h"
#include "llm/tokenizer/special.h"
#include "llm/tokenizer/subword/subword_model.h"
#include "llm/tokenizer/token_store.h"
#include "llm/tokenizer/vocabulary.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// A part of a prompt. Control tokens are recognised in markup only, so what a user wrote cannot end
// its own message; words may still run across the border of two parts.
struct PromptPart {
  std::string text;
  bool markup = false;
};

struct EncodeOptions {
  bool addSpecial = true;    // the begin and end tokens, where the vocabulary wants them
  bool parseSpecial = false; // read control tokens such as <|im_start|> in the text as such
};

// A tokenizer. It owns all it needs; movable; const use is safe from several threads.
class Tokenizer {
public:
  // Vocabularies and prompts beyond these are refused.
  static constexpr size_t kMaxTokens = size_t{1} << 24;
  static constexpr size_t kMaxPromptBytes = size_t{1} << 30;

  // Checks and copies a vocabulary. Corrupt where it contradicts itself: no tokens, a text twice, a
  // count of types or scores that does not fit, damaged normalization rules. Unsupported for a
  // kind of tokenizer, a pre-tokenizer or a size that we do not have.
  static Result<Tokenizer> create(const VocabularyData &data);

  // The tokens of a text. Bytes that are not UTF-8 become U+FFFD each. InvalidArgument above
  // kMaxPromptBytes; Unsupported where the file has no vocabulary.
  Result<Encoding> encode(std::string_view text, EncodeOptions options = {}) const;
  // The same for a prompt whose parts differ in trust; options.parseSpecial counts as markup
  // everywhere.
  Result<Encoding> encode(std::span<const PromptPart> parts, EncodeOptions options = {}) const;

  size_t size() const { return store_->size(); }
  bool contains(int64_t id) const { return id >= 0 && static_cast<size_t>(id) < size(); }

  // For the following, `id` must be contained.
  // The bytes that a token stands for, which may be part of a character.
  std::string_view piece(TokenId id) const;
  TokenType type(TokenId id) const;
  // Control and unknown tokens, but those that structure an answer: not shown unless asked for.
  bool isHidden(TokenId id) const;
  // Whether generation stops here: the end tokens named by the file, and those known by their text.
  bool endsGeneration(TokenId id) const;

  // The special or user-defined token with this text.
  std::optional<TokenId> findSpecial(std::string_view text) const;

  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  std::optional<TokenId> eot() const { return eot_; }
  std::optional<TokenId> separator() const { return separator_; }
  const InfillTokens &infill() const { return infill_; }
  // What endsGeneration() says yes to, ascending.
  std::span<const TokenId> generationEnds() const { return generationEnds_; }
  // What the file says must never be generated, ascending.
  std::span<const TokenId> suppressed() const { return suppressed_; }
  bool addsBos() const { return addsBos_; }
  bool addsEos() const { return addsEos_; }
  // Whether the separator stands between the texts of a pair.
  bool addsSeparator() const { return addsSeparator_; }
  // The tokens around a prompt.
  std::span<const TokenId> prefix() const { return prefix_; }
  std::span<const TokenId> suffix() const { return suffix_; }
  // Whether the text of a whole sequence starts with a space that its prompt had not.
  bool dropsFirstSpace() const { return recipe_.dropsFirstSpace; }
  // Whether whole texts lose the space before punctuation, as cleanedSpaces() does.
  bool cleansSpaces() const { return recipe_.cleansSpaces; }

  // What is odd about the vocabulary but no error, one line each.
  std::span<const std::string> warnings() const { return warnings_; }

private:
  Tokenizer() = default;

  Result<void> readTokens(const VocabularyData &data, const EndTokens &ends);
  void readSpecialIds(const VocabularyData &data, EndTokens ends);
  void readInfill(const VocabularyData &data, const InfillTokens &byText);
  Result<void> readEnds(const VocabularyData &data, const KindDefaults &defaults);
  Result<void> readSpecialTokens(const VocabularyData &data);
  Result<void> makeModel(const VocabularyData &data);
  std::optional<TokenId> readId(const char *what, std::optional<int64_t> stated, int64_t fallback);
  void warn(std::string line) { warnings_.push_back(std::move(line)); }

  Result<void> encodeText(std::string_view text, bool isFirst, Encoding &out) const;
  Result<void> encodeNormalized(std::string text, bool isFirst, Encoding &out) const;

  TokenizerRecipe recipe_;
  std::unique_ptr<TokenStore> store_; // what models, indices and special tokens have views into
  Normalizer normalizer_;
  Pretokenizer words_;
  std::unique_ptr<SubwordModel> model_; // null: no text at all
  SpecialTokens special_, normalizedSpecial_;
  TextIndex specialByText_;
  std::vector<TokenId> shown_;          // control tokens that are not hidden, ascending
  std::vector<TokenId> generationEnds_; // ascending
  std::vector<TokenId> suppressed_;     // ascending
  std::vector<TokenId> prefix_, suffix_;
  std::optional<TokenId> bos_, eos_, eot_, unknown_, separator_;
  InfillTokens infill_;
  bool addsBos_ = false, addsEos_ = false, addsSeparator_ = false;
  std::vector<std::string> warnings_;
};

} // namespace sinter
