// The corpus of the template engine's fuzzer, replayed, and mutations of it.
#include "jinja/jinja_check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace sinter::jinja {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> files;
  for (const auto &entry :
       std::filesystem::directory_iterator(SINTER_TEST_DIR "/fuzz/corpus/jinja")) {
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(files);
  return files;
}

TEST(JinjaCorpus, EachFileGivesTextWithinItsLimitsOrAnError) {
  const std::vector<std::string> files = corpus();
  EXPECT_GE(files.size(), 20u);
  for (const std::string &bytes : files)
    EXPECT_EQ(inconsistencyOfTemplate(bytes), "") << bytes;
}

// Pieces of files in other places: most parse no more, some run in odd ways.
TEST(JinjaCorpus, MutationsGiveTextWithinTheirLimitsOrAnError) {
  const std::vector<std::string> files = corpus();
  std::minstd_rand random(7);
  const auto below = [&](size_t bound) { return bound ? random() % bound : 0; };
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = files[below(files.size())];
    for (int edits = 1 + static_cast<int>(below(4)); edits > 0; --edits) {
      const std::string &other = files[below(files.size())];
      const size_t from = below(other.size()), at = below(bytes.size());
      bytes.replace(at, below(12), other.substr(from, below(24)));
    }
    ASSERT_EQ(inconsistencyOfTemplate(bytes), "") << bytes;
  }
}

} // namespace
} // namespace sinter::jinja
