// Each step against its plain statement, on rows of every kind.
#include "llm/sampler/steps.h"

#include "llm/sampler_reference.h"

#include <gmock/gmock.h>

#include <functional>

namespace sinter {
namespace {

using reference::Row;
using reference::Tokens;
using testing::ElementsAre;

constexpr int32_t kNoFloor = std::numeric_limits<int32_t>::min();

Candidates candidatesOf(const std::vector<float> &row) {
  RowScan scan;
  scan.scan(row);
  Candidates candidates;
  candidates.gather(row, scan, kNoFloor);
  return candidates;
}

std::vector<TokenId> idsOf(const Candidates &candidates) {
  return {candidates.ids().begin(), candidates.ids().end()};
}
std::vector<TokenId> idsOf(const Tokens &tokens) {
  std::vector<TokenId> ids;
  for (const reference::Token &token : tokens)
    ids.push_back(token.id);
  return ids;
}

class SamplerStep : public testing::TestWithParam<Row> {
protected:
  // Calls with rows of many sizes; `isFirst` once for each size, for the ends of a range.
  void forEachRow(const std::function<void(const std::vector<float> &, bool isFirst)> &check) {
    for (const size_t size : {1, 2, 63, 64, 65, 257, 3001})
      for (int round = 0; round < 12; ++round)
        check(reference::randomRow(GetParam(), size, random_), round == 0);
  }
  static Tokens plainOf(const std::vector<float> &row) {
    return reference::tokensOf(reference::inDoubles(row));
  }
  double uniform() { return static_cast<double>(random_()) / 4294967296.0; }

  // Weights are floats: where a sum comes that close to its target, either side of it is right.
  static constexpr double kBound = 1e-5;
  // `kept` is what `step` keeps of mass a little below and above too, or lies between.
  template <typename Step>
  void expectHead(const std::vector<float> &row, const Candidates &kept, double mass, Step step) {
    const Tokens plain = plainOf(row);
    const auto ids = idsOf(kept), less = idsOf(step(plain, mass - kBound)),
               more = idsOf(step(plain, std::min(1.0, mass + kBound)));
    EXPECT_TRUE(std::includes(ids.begin(), ids.end(), less.begin(), less.end())) << mass;
    EXPECT_TRUE(std::includes(more.begin(), more.end(), ids.begin(), ids.end())) << mass;
  }

  std::mt19937 random_{7};
  HeadFinder finder_;
};

TEST_P(SamplerStep, TopKIsTheHeadOfTheSortedRow) {
  forEachRow([&](const std::vector<float> &row, bool) {
    const size_t k = 1 + random_() % row.size();
    Candidates candidates = candidatesOf(row);
    keepTopK(candidates, k, finder_);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::topK(plainOf(row), k))) << k;
  });
}

TEST_P(SamplerStep, TheFloorOfTopKLosesNoneOfIt) {
  forEachRow([&](const std::vector<float> &row, bool) {
    const size_t k = 1 + random_() % row.size();
    RowScan scan;
    scan.scan(row);
    Candidates candidates;
    candidates.gather(row, scan, scan.floorOfTop(k));
    keepTopK(candidates, k, finder_);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::topK(plainOf(row), k))) << k;
  });
}

TEST_P(SamplerStep, TopPIsTheHeadOfTheSortedRowWithThatMass) {
  forEachRow([&](const std::vector<float> &row, bool isFirst) {
    const double mass = isFirst ? 0 : uniform();
    Candidates candidates = candidatesOf(row);
    keepTopP(candidates, mass, finder_);
    expectHead(row, candidates, mass, reference::topP);
  });
}

TEST_P(SamplerStep, TypicalIsTheHeadInOrderOfTheDistanceToTheEntropy) {
  forEachRow([&](const std::vector<float> &row, bool isFirst) {
    const double mass = isFirst ? 0 : uniform();
    Candidates candidates = candidatesOf(row);
    keepTypical(candidates, mass, finder_);
    expectHead(row, candidates, mass, reference::typical);
  });
}

TEST_P(SamplerStep, MinPComparesWithTheLargestProbability) {
  forEachRow([&](const std::vector<float> &row, bool isFirst) {
    const double ratio = isFirst ? 1 : uniform();
    Candidates candidates = candidatesOf(row);
    keepMinP(candidates, ratio);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::minP(plainOf(row), ratio))) << ratio;
  });
}

TEST_P(SamplerStep, TheFloorOfMinPLosesNoneOfIt) {
  forEachRow([&](const std::vector<float> &row, bool isFirst) {
    const double ratio = isFirst ? 1 : uniform();
    RowScan scan;
    scan.scan(row);
    Candidates candidates;
    candidates.gather(row, scan, scan.floorOfRatio(ratio));
    keepMinP(candidates, ratio);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::minP(plainOf(row), ratio))) << ratio;
  });
}

TEST_P(SamplerStep, XtcLeavesTheLastOfTheLikely) {
  forEachRow([&](const std::vector<float> &row, bool isFirst) {
    const double threshold = isFirst ? 0 : uniform() / 4;
    Candidates candidates = candidatesOf(row);
    excludeTopChoices(candidates, threshold);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::xtc(plainOf(row), threshold))) << threshold;
  });
}

TEST_P(SamplerStep, MirostatKeepsWhatIsNotTooSurprising) {
  forEachRow([&](const std::vector<float> &row, bool) {
    const double mu = uniform() * 12 - 1;
    Candidates candidates = candidatesOf(row);
    keepUnsurprising(candidates, mu);
    EXPECT_EQ(idsOf(candidates), idsOf(reference::unsurprising(plainOf(row), mu))) << mu;
  });
}

TEST_P(SamplerStep, WeightsAreProbabilitiesTimesAFactor) {
  forEachRow([&](const std::vector<float> &row, bool) {
    const double temperature = 0.1 + uniform() * 3;
    Candidates candidates = candidatesOf(row);
    candidates.divide(temperature);
    const double sum = candidates.weigh();
    const auto p = reference::softmax(reference::divided(plainOf(row), temperature));
    ASSERT_EQ(p.size(), candidates.size());
    const double most = *std::max_element(p.begin(), p.end());
    for (size_t i = 0; i < p.size(); ++i) {
      // The exponent is a float of its own size.
      const double bound = p[i] > 0 ? 0x1p-22 * (1 + std::log(most / p[i])) * p[i] : 0;
      EXPECT_NEAR(candidates.weights()[i] / sum, p[i], bound + 1e-37) << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Rows, SamplerStep, testing::ValuesIn(reference::kRows),
                         [](const auto &info) { return reference::nameOf(info.param); });

TEST(SamplerSteps, EqualProbabilitiesReachAMassExactly) {
  HeadFinder finder;
  for (const auto &[mass, count] : {std::pair{0.25, 1u}, {0.5, 2u}, {0.51, 3u}, {0.75, 3u}}) {
    Candidates candidates = candidatesOf({3, 3, 3, 3});
    keepTopP(candidates, mass, finder);
    EXPECT_EQ(candidates.size(), count) << mass;
    EXPECT_EQ(candidates.ids()[0], 0) << "the lowest ids are the first";
  }
}

TEST(SamplerSteps, NegativeZeroAndZeroAreEqual) {
  HeadFinder finder;
  Candidates candidates = candidatesOf({-0.0f, 0.0f, -1});
  keepTopK(candidates, 1, finder);
  EXPECT_THAT(idsOf(candidates), ElementsAre(0));
}

TEST(SamplerSteps, TypicalMayLeaveTheLikeliestOut) {
  HeadFinder finder;
  // Half of it all on one token, the rest on many: the usual surprise is that of neither alone.
  std::vector<float> row(65, 0.0f);
  row[0] = std::log(16.0f);
  Candidates candidates = candidatesOf(row);
  keepTypical(candidates, 0.5, finder);
  EXPECT_EQ(candidates.ids()[0], 1);
}

TEST(SamplerSteps, InfiniteLogitsShareAllTheProbability) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Candidates candidates = candidatesOf({1, kInf, -kInf, kInf, 3e38f});
  EXPECT_THAT(idsOf(candidates), ElementsAre(1, 3));
  EXPECT_EQ(candidates.weigh(), 2);
}

TEST(SamplerSteps, ANanOfEitherSignIsFound) {
  for (const float nan : {std::nanf(""), -std::nanf("")})
    for (size_t at : {0, 63, 64, 99}) {
      std::vector<float> row(100, 1.0f);
      row[at] = nan;
      RowScan scan;
      scan.scan(row);
      EXPECT_TRUE(scan.hasNan) << at;
    }
}

TEST(SamplerSteps, ExponentialsAreWithinTwoUnitsInTheLastPlace) {
  for (float x = -85.999f; x <= 0; x += 0x1p-10f) {
    const double exact = std::exp(static_cast<double>(x));
    EXPECT_NEAR(expOfNegative(x), exact, exact * 0x1p-22) << x;
  }
  EXPECT_EQ(expOfNegative(0), 1);
  EXPECT_EQ(expOfNegative(-87), 0);
  EXPECT_EQ(expOfNegative(-std::numeric_limits<float>::infinity()), 0);
}

TEST(SamplerSteps, NumbersInUnitIntervalFallOnCandidatesByTheirWeights) {
  Candidates candidates = candidatesOf({0, std::log(2.0f), -200, 0});
  candidates.weigh();
  for (const auto &[uniform, index] :
       {std::pair{0.0, 0u}, {0.2499, 0u}, {0.2501, 1u}, {0.7499, 1u}, {0.7501, 3u}})
    EXPECT_EQ(candidates.draw(uniform), index) << uniform;
  EXPECT_EQ(candidates.draw(std::nextafter(1.0, 0.0)), 3u);
}

} // namespace
} // namespace sinter
