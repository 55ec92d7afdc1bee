// What the tokenizer tests share: SmolLM2's vocabulary from its committed file, and small made-up
// ones.
#pragma once

#include "llm/tokenizer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace sinter {

inline std::string readTestFile(const std::string &path) {
  std::ifstream file(std::string(SINTER_TEST_DIR) + "/data/" + path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The metadata of a GGUF file that is known to be sound.
class TrustedGguf {
public:
  explicit TrustedGguf(std::string bytes) : bytes_(std::move(bytes)) {
    at_ = 16;
    for (auto keys = number<uint64_t>(); keys > 0; --keys) {
      std::string_view key = text();
      readValue(key, number<uint32_t>());
    }
  }
  VocabularyData data;

private:
  template <typename T> T number() {
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() {
    auto length = number<uint64_t>();
    at_ += length;
    return std::string_view(bytes_).substr(at_ - length, length);
  }
  void readValue(std::string_view key, uint32_t type) {
    constexpr size_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == 8) {
      keepText(key, text());
    } else if (type == 9) {
      auto element = number<uint32_t>();
      for (auto count = number<uint64_t>(); count > 0; --count)
        readValue(key, element);
    } else if (key == "tokenizer.ggml.token_type") {
      data.types.push_back(number<int32_t>());
    } else if (key == "tokenizer.ggml.bos_token_id") {
      data.bos = number<uint32_t>();
    } else if (key == "tokenizer.ggml.eos_token_id") {
      data.eos = number<uint32_t>();
    } else if (key == "tokenizer.ggml.add_bos_token") {
      data.addBos = number<uint8_t>() != 0;
    } else {
      at_ += kSizes[type];
    }
  }
  void keepText(std::string_view key, std::string_view value) {
    if (key == "tokenizer.ggml.tokens")
      data.tokens.push_back(value);
    else if (key == "tokenizer.ggml.merges")
      data.merges.push_back(value);
    else if (key == "tokenizer.ggml.pre")
      data.pre = value;
    else if (key == "tokenizer.chat_template")
      data.chatTemplate = value;
  }

  std::string bytes_;
  size_t at_ = 0;
};

inline const TrustedGguf &smolLm2() {
  static const TrustedGguf file(readTestFile("vocab/smollm2.gguf.vocab"));
  return file;
}

inline const Tokenizer &smolLm2Tokenizer() {
  static const Result<Tokenizer> made = Tokenizer::create(smolLm2().data);
  EXPECT_TRUE(made.has_value()) << made.error().toString();
  return *made;
}

// A vocabulary of the letters a to d, two merges, a control and a user-defined token. Its errors
// are what the tests on hostile vocabularies plant.
inline VocabularyData smallVocabulary() {
  VocabularyData data;
  data.tokens = {"a", "b", "c", "d", "ab", "abc", "<end>", "<cut>", "Ġ"};
  data.types = {1, 1, 1, 1, 1, 1, 3, 4, 1};
  data.merges = {"a b", "ab c"};
  data.pre = "gpt-2";
  data.eos = 6;
  return data;
}

inline std::vector<TokenId> idsOf(const Tokenizer &tokenizer, std::string_view text,
                                  EncodeOptions options = {}) {
  auto encoding = tokenizer.encode(text, options);
  EXPECT_TRUE(encoding.has_value()) << encoding.error().toString();
  return encoding ? encoding->ids : std::vector<TokenId>{};
}

} // namespace sinter
