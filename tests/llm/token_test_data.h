// What the tokenizer tests share: SmolLM2's vocabulary from its committed file, and small made-up
// ones.
#pragma once

#include "format/gguf.h"
#include "llm/tokenizer/tokenizer.h"
#include "llm/tokenizer/vocabulary_from_gguf.h"

#include <gtest/gtest.h>

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

struct VocabularyFile {
  explicit VocabularyFile(std::string content)
      : bytes(std::move(content)),
        file(GgufFile::parse({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()})),
        data(file.and_then(vocabularyFromGguf)) {
    EXPECT_TRUE(data.has_value()) << data.error().toString();
  }
  std::string bytes;
  Result<GgufFile> file;
  Result<VocabularyData> data;
};

inline const VocabularyData &smolLm2() {
  static const VocabularyFile file(readTestFile("vocab/smollm2.gguf.vocab"));
  return *file.data;
}

inline const Tokenizer &smolLm2Tokenizer() {
  static const Result<Tokenizer> made = Tokenizer::create(smolLm2());
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
