// The corpus of the fuzzer of registries, replayed, and mutations of it.
#include "store/registry_check.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>

namespace sinter::store {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> all;
  for (const auto &entry :
       std::filesystem::directory_iterator(SINTER_TEST_DIR "/fuzz/corpus/registry")) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(all); // the same order everywhere
  return all;
}

TEST(RegistryCorpus, IsReadConsistently) {
  const auto all = corpus();
  ASSERT_GE(all.size(), 15u);
  for (const std::string &bytes : all)
    EXPECT_EQ(registryInconsistencyOf(bytes), "") << bytes;
}

TEST(RegistryCorpus, MutationsAreReadConsistently) {
  const auto all = corpus();
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = all[random() % all.size()];
    const std::string &other = all[random() % all.size()];
    const size_t at = random() % bytes.size();
    if (round % 2 == 0)
      bytes[at] = static_cast<char>(random());
    else
      bytes = bytes.substr(0, at) + other.substr(random() % other.size());
    ASSERT_EQ(registryInconsistencyOf(bytes), "") << bytes;
  }
}

} // namespace
} // namespace sinter::store
