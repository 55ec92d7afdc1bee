// Penalties and their windows against plain counting.
#include "llm/sampler/penalties.h"

#include "llm/sampler_reference.h"

#include <gmock/gmock.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

std::vector<TokenId> randomTokens(size_t count, uint32_t vocabulary, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId &token : tokens)
    token = static_cast<TokenId>(random() % vocabulary);
  return tokens;
}

std::map<TokenId, uint32_t> countsOf(const WindowCounts &counts) {
  std::map<TokenId, uint32_t> map;
  for (const auto &[token, count] : counts.entries())
    map[token] = count;
  return map;
}

TEST(SamplerPenalties, WindowsCountTheTokensTheyCoverWhetherGivenOrAdded) {
  const std::vector<TokenId> tokens = randomTokens(300, 20, 3);
  for (const int64_t window : {0, 1, 2, 64, 299, 300, 301, -1}) {
    WindowCounts added(window);
    added.begin({});
    for (size_t count = 1; count <= tokens.size(); ++count) {
      const std::vector<TokenId> history(tokens.begin(), tokens.begin() + ptrdiff_t(count));
      std::map<TokenId, uint32_t> plain;
      for (const TokenId token : reference::lastOf(history, window))
        ++plain[token];
      added.add(history);
      ASSERT_EQ(countsOf(added), plain) << window << " at " << count;
      WindowCounts given(window);
      given.begin(history);
      ASSERT_EQ(countsOf(given), plain) << window << " at " << count;
    }
  }
}

TEST(SamplerPenalties, LogitsAreWhatThePlainStatementGives) {
  std::mt19937 random(5);
  for (const auto kind : {reference::Row::Normal, reference::Row::Holes, reference::Row::Infinite})
    for (const double repeat : {0.5, 1.0, 1.3})
      for (const double presence : {-0.5, 0.0, 0.7})
        for (const double frequency : {0.0, 0.25})
          for (const int64_t window : {0, 1, 50, -1}) {
            const SamplerSettings settings{.repeatPenalty = repeat,
                                           .presencePenalty = presence,
                                           .frequencyPenalty = frequency,
                                           .repeatLastN = window};
            auto row = reference::randomRow(kind, 40, random);
            const auto history = randomTokens(120, 40, random());
            const auto plain = reference::penalised(reference::inDoubles(row), history, settings);
            WindowCounts counts(window);
            counts.begin(history);
            penalise(counts.entries(), settings, row);
            for (size_t i = 0; i < row.size(); ++i)
              EXPECT_TRUE(row[i] == plain[i] || std::fabs(row[i] - plain[i]) < 1e-5) << i;
          }
}

TEST(SamplerPenalties, TokensBeyondTheRowArePassedOver) {
  std::vector<float> row = {1, 2};
  const WindowCounts::Entry entries[] = {{-1, 1}, {1, 2}, {2, 1}, {1 << 30, 1}};
  penalise(entries, {.presencePenalty = 0.5, .frequencyPenalty = 0.25}, row);
  EXPECT_THAT(row, ElementsAre(1, 1));
}

TEST(SamplerPenalties, FiniteLogitsStayFinite) {
  std::vector<float> row = {3e38f, -3e38f};
  const WindowCounts::Entry entries[] = {{0, 1}, {1, 1}};
  penalise(entries, {.repeatPenalty = 0.01}, row);
  penalise(entries, {.repeatPenalty = 100}, row);
  penalise(entries, {.repeatPenalty = 100}, row);
  EXPECT_TRUE(std::isfinite(row[0]) && std::isfinite(row[1])) << row[0] << " " << row[1];
}

TEST(SamplerPenalties, ManyDistinctTokensInAGrowingWindowStayInOrder) {
  std::vector<TokenId> history;
  WindowCounts counts(-1);
  counts.begin(history);
  for (int i = 0; i < 50000; ++i) {
    history.push_back(static_cast<TokenId>((i * 40503) % 50021));
    counts.add(history);
  }
  EXPECT_EQ(counts.entries().size(), 50000u);
  EXPECT_TRUE(std::is_sorted(counts.entries().begin(), counts.entries().end(),
                             [](const auto &a, const auto &b) { return a.token < b.token; }));
}

} // namespace
} // namespace sinter
