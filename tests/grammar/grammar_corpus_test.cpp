// The corpora of the fuzzers of grammars and schemas, replayed, and mutations of them.
#include "grammar/grammar_check.h"

#include <filesystem>
#include <fstream>

namespace sinter::grammar {
namespace {

std::vector<std::string> corpus(const char *name) {
  std::vector<std::string> all;
  const std::filesystem::path folder = std::string(SINTER_TEST_DIR "/fuzz/corpus/") + name;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(all);
  EXPECT_GE(all.size(), 10u) << folder;
  return all;
}

// Bytes that are other ones, gone or there twice.
std::string mutated(std::string text, std::mt19937 &random) {
  for (size_t count = 1 + random() % 3; count > 0 && !text.empty(); --count) {
    const size_t at = random() % text.size(), length = 1 + random() % 6;
    if (random() % 3 == 0)
      text[at] = static_cast<char>(' ' + random() % 95);
    else if (random() % 2)
      text.erase(at, length);
    else
      text.insert(at, text.substr(random() % text.size(), length));
  }
  return text;
}

template <typename Check> void replay(const char *name, Check check) {
  std::mt19937 random(3);
  for (const std::string &bytes : corpus(name)) {
    EXPECT_EQ(check(bytes), "") << bytes;
    for (int i = 0; i < 8; ++i) {
      const std::string other = mutated(bytes, random);
      EXPECT_EQ(check(other), "") << other;
    }
  }
}

TEST(GrammarCorpus, TextsOfGrammarsEndAndMasksAreExact) {
  replay("grammar", grammarInconsistencyOf);
}

TEST(GrammarCorpus, ValuesOfSchemasSatisfyThem) {
  replay("schema", schemaInconsistencyOf);
}

} // namespace
} // namespace sinter::grammar
