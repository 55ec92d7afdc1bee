// Byte-level BPE tokenizers (tokenizer.ggml.model = "gpt2"), built from a model file's own
// vocabulary.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/end_tokens.h"
#include "llm/tokenizer/merges.h"
#include "llm/tokenizer/pretokenizer.h"
#include "llm/tokenizer/special.h"
#include "llm/tokenizer/vocabulary.h"

#include <array>
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

// A prompt in tokens, and what of it the tokens do not hold.
struct Encoding {
  std::vector<TokenId> ids;
  uint64_t replacedBytes = 0; // not UTF-8; each became U+FFFD
  uint64_t droppedBytes =
      0; // the vocabulary has no token for them, as some lack control characters
};

// A tokenizer. It owns all it needs; movable; const use is safe from several threads.
class Tokenizer {
public:
  // Vocabularies and prompts beyond these are refused.
  static constexpr size_t kMaxTokens = size_t{1} << 24;
  static constexpr size_t kMaxPromptBytes = size_t{1} << 30;

  // Checks and copies a vocabulary. Corrupt where it contradicts itself: no tokens, a text twice, a
  // type count or special id that does not fit, merges of unknown tokens. Unsupported for a
  // pre-tokenizer or a size that we do not have.
  static Result<Tokenizer> create(const VocabularyData &data);

  // The tokens of a text. Bytes that are not UTF-8 become U+FFFD each. InvalidArgument above
  // kMaxPromptBytes.
  Result<Encoding> encode(std::string_view text, EncodeOptions options = {}) const;
  // The same for a prompt whose parts differ in trust; options.parseSpecial counts as markup
  // everywhere.
  Result<Encoding> encode(std::span<const PromptPart> parts, EncodeOptions options = {}) const;

  size_t size() const { return types_.size(); }
  bool contains(int64_t id) const { return id >= 0 && static_cast<size_t>(id) < size(); }

  // For the following, `id` must be contained.
  // The bytes that a token stands for, which may be part of a character.
  std::string_view piece(TokenId id) const;
  TokenType type(TokenId id) const;
  // Control and unknown tokens: not shown unless asked for.
  bool isHidden(TokenId id) const;
  // Whether generation stops here: the end tokens named by the file, and those known by their text.
  bool endsGeneration(TokenId id) const;

  // The special or user-defined token with this text.
  std::optional<TokenId> findSpecial(std::string_view text) const;

  std::optional<TokenId> bos() const { return bos_; }
  std::optional<TokenId> eos() const { return eos_; }
  std::optional<TokenId> eot() const { return eot_; }
  // What the file says must never be generated, ascending.
  std::span<const TokenId> suppressed() const { return suppressed_; }
  bool addsBos() const { return addsBos_; }
  bool addsEos() const { return addsEos_; }

private:
  explicit Tokenizer(Pretokenizer words) : words_(std::move(words)) {}

  Result<void> readTokens(const VocabularyData &data, const EndTokens &ends);
  Result<void> readSpecialIds(const VocabularyData &data, EndTokens ends);
  Result<void> indexTokens(const VocabularyData &data, const TextIndex &texts);
  Result<void> encodeText(std::string_view text, Encoding &out, WordMerger &merger) const;
  void encodeWord(std::string_view word, Encoding &out, WordMerger &merger,
                  std::vector<TokenId> &symbols) const;

  Pretokenizer words_;
  std::vector<char> bytes_;     // every token's piece, one after another; others hold views into it
  std::vector<size_t> offsets_; // one more than there are tokens
  std::vector<TokenType> types_;
  std::array<TokenId, 256> byteTokens_{}; // below zero where there is none
  MergeTable merges_;
  TextIndex wholeWords_; // by piece, for vocabularies that take words before merges
  SpecialTokens special_;
  TextIndex specialByText_;
  std::vector<TokenId> generationEnds_; // ascending
  std::vector<TokenId> suppressed_;     // ascending
  std::optional<TokenId> bos_, eos_, eot_;
  bool addsBos_ = false;
  bool addsEos_ = false;
};

} // namespace sinter
