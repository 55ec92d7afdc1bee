// The vocabulary of a tokenizer as a model file states it, and an index from text to token.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/recipe.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sinter {

// A token's number in its vocabulary.
using TokenId = int32_t;

// How a token may be used; the numbers are those of tokenizer.ggml.token_type.
enum class TokenType : int32_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

// A rule of byte-pair encoding: two texts that become one. Views, as below.
struct MergeText {
  MergeText(std::string_view first, std::string_view second) : left(first), right(second) {}
  // "left right"; the left side may itself start with a space. Both are empty where it is no pair.
  MergeText(std::string_view both);
  MergeText(const char *both) : MergeText(std::string_view(both)) {}

  std::string_view left, right;
};

// How a special token is found in a text, where that is not plainly.
struct TokenTraits {
  TokenId id = -1;
  bool stripsLeft = false, stripsRight = false; // it takes the white space beside it along
  bool wholeWord = false;                       // not inside a word
  bool normalized = false;                      // looked for in the normalized text
};

// What a file says about its tokenizer. Views into the file or into `storage`; nothing here has
// been checked.
struct VocabularyData {
  std::string_view model = "gpt2"; // tokenizer.ggml.model
  std::vector<std::string_view> tokens;
  std::vector<int64_t> types;    // one for each token, or none at all: every token is normal
  std::vector<double> scores;    // one for each token, or none
  std::vector<MergeText> merges; // best first
  std::string_view pre;
  std::string_view charsmap; // compiled normalization rules
  std::optional<int64_t> bos, eos, eot, eom, unknown, separator;
  std::optional<int64_t> fimPrefix, fimSuffix, fimMiddle;
  std::optional<int64_t> fimPad, fimRepository, fimSeparator; // of infilling; each ends it
  std::vector<int64_t> suppressed;                            // never to be generated
  // Where the file does not say, the kind of tokenizer decides.
  std::optional<bool> addBos, addEos, addSeparator, addSpacePrefix, mergeSpaces, lowercase,
      stripAccents;
  std::string_view chatTemplate;            // empty where there is none
  std::string_view modelName, architecture; // of which some decide how special tokens are found
  std::optional<uint64_t> size;             // of a vocabulary without tokens

  // What tokenizer.json states and GGUF implies: how text is treated, which tokens stand around it,
  // how special tokens are found. Where there is no recipe, `model` and `pre` say it.
  std::optional<TokenizerRecipe> recipe;
  std::vector<TokenId> prefix, suffix; // with a recipe
  std::vector<TokenTraits> traits;     // with a recipe
  std::shared_ptr<const void> storage; // keeps texts alive that are in no mapped file
};

// Finds strings by content. Sorted rather than hashed, so that no choice of strings makes it slow.
// The strings belong to the caller and must outlive it.
class TextIndex {
public:
  struct Entry {
    std::string_view text;
    TokenId id;
  };

  TextIndex() = default;
  explicit TextIndex(std::vector<Entry> entries);

  std::optional<TokenId> find(std::string_view text) const;

  // Two entries with one text, if there are any; the lower id first.
  std::optional<std::pair<TokenId, TokenId>> duplicate() const;

private:
  struct Key {
    uint64_t prefix; // the first eight bytes, big-endian, zero-padded
    std::string_view text;
    TokenId id;
  };
  std::vector<Key> keys_; // ascending by text
};

} // namespace sinter
