// The vocabulary of a tokenizer as a model file states it, and an index from text to token.
#pragma once

#include "base/status.h"

#include <cstdint>
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

// What a file says about its tokenizer. Views into the file; nothing here has been checked.
struct VocabularyData {
  std::vector<std::string_view> tokens;
  std::vector<int64_t> types;           // one for each token, or none at all: every token is normal
  std::vector<std::string_view> merges; // "left right", best first
  std::string_view pre;
  std::optional<int64_t> bos, eos, eot, eom;
  std::optional<int64_t> fimPad, fimRepository, fimSeparator; // of infilling; each ends it
  std::vector<int64_t> suppressed;                            // never to be generated
  std::optional<bool> addBos, addEos; // where the file does not say, the pre-tokenizer decides
  std::string_view chatTemplate;      // empty where there is none
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
