// The corpus of the fuzzer of requests, replayed, and mutations of it.
#include "serve/request_check.h"

#include "fuzz_corpus.h"

#include <random>

namespace sinter::serve {
namespace {

TEST(RequestCorpus, IsAnsweredInJson) {
  const auto all = fuzzCorpus("request");
  ASSERT_GE(all.size(), kBodyRoutes.size());
  RequestCheck check;
  for (const std::string &bytes : all)
    EXPECT_EQ(check.inconsistencyOf(bytes), "") << bytes;
}

TEST(RequestCorpus, MutationsAreAnsweredInJson) {
  RequestCheck check;
  std::mt19937 random(1);
  const auto all = fuzzCorpus("request");
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = all[random() % all.size()];
    const std::string &other = all[random() % all.size()];
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
    case 0:
      bytes[at] = static_cast<char>(random());
      break;
    case 1:
      bytes.resize(at);
      break;
    case 2:
      bytes = bytes.substr(0, at) + other.substr(random() % other.size());
      break;
    default: // another value of a field
      bytes.insert(at,
                   std::array{"0", "-1", "1e99", "null", "[]", "{}", "\"", "\xff"}[random() % 8]);
    }
    ASSERT_EQ(check.inconsistencyOf(bytes), "") << bytes;
  }
}

} // namespace
} // namespace sinter::serve
