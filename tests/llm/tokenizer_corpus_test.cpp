// The corpora of the tokenizer's fuzzers, replayed.
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

// How many files of a corpus are there, all of which must pass.
template <typename Check> size_t replay(const char *corpus, Check inconsistencyOf) {
  const std::filesystem::path folder = std::string(SINTER_TEST_DIR "/fuzz/corpus/") + corpus;
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(inconsistencyOf(bytes), "") << entry.path();
    ++files;
  }
  return files;
}

TEST(TokenizerCorpus, CompiledRulesMakeUtf8OfAnyText) {
  EXPECT_GE(replay("charsmap", charsmapInconsistencyOf), 10u);
}

TEST(TokenizerCorpus, EachJsonFileGivesTokensThatStreamAsUtf8OrAnError) {
  EXPECT_GE(replay("tokenizer_json", tokenizerJsonInconsistencyOf), 10u);
}

} // namespace
} // namespace sinter
