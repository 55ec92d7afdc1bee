// The corpus of the fuzzer of registries, replayed, and mutations of it.
#include "store/registry_check.h"

#include "fuzz_corpus.h"

#include <gtest/gtest.h>
#include <random>

namespace sinter::store {
namespace {

TEST(RegistryCorpus, IsReadConsistently) {
  const auto all = fuzzCorpus("registry");
  ASSERT_GE(all.size(), 15u);
  for (const std::string &bytes : all)
    EXPECT_EQ(registryInconsistencyOf(bytes), "") << bytes;
}

TEST(RegistryCorpus, MutationsAreReadConsistently) {
  const auto all = fuzzCorpus("registry");
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
