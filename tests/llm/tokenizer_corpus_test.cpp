// The corpus of the tokenizer's fuzzer, replayed.
#include "llm/tokenizer_check.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace sinter {
namespace {

TEST(TokenizerCorpus, EachFileGivesTokensThatStreamAsUtf8OrAnError) {
  const std::filesystem::path folder = SINTER_TEST_DIR "/fuzz/corpus/tokenizer";
  size_t files = 0, tokenizers = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(tokenizerInconsistencyOf(bytes), "") << entry.path();
    ByteDealer input(bytes);
    tokenizers += input.byte() % 4 != 0 && Tokenizer::create(vocabularyFrom(input)).has_value();
    ++files;
  }
  EXPECT_GE(files, 20u);
  EXPECT_GE(tokenizers, 5u);
}

} // namespace
} // namespace sinter
