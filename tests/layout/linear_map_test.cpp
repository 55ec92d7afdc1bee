// Linear maps over GF(2): the laws of composition, inversion, products and quotients, on random
// maps.
#include "layout/linear_map.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

namespace sinter::layout {
namespace {

uint64_t mask(uint32_t bits) {
  return (uint64_t(1) << bits) - 1;
}

LinearMap randomMap(std::mt19937_64 &random, uint32_t inBits, uint32_t outBits) {
  std::vector<uint64_t> columns(inBits);
  for (uint64_t &column : columns)
    column = random() & mask(outBits);
  return *LinearMap::fromColumns(columns, outBits);
}

LinearMap randomInvertible(std::mt19937_64 &random, uint32_t bits) {
  for (;;)
    if (LinearMap map = randomMap(random, bits, bits); map.isInvertible())
      return map;
}

// The image by enumeration.
std::set<uint64_t> image(const LinearMap &map) {
  std::set<uint64_t> seen;
  for (uint64_t x = 0; x <= mask(map.inBits()); ++x)
    seen.insert(map.apply(x));
  return seen;
}

TEST(LinearMap, ApplyIsLinear) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    LinearMap map = randomMap(random, random() % 63, random() % 63);
    uint64_t x = random() & mask(map.inBits()), y = random() & mask(map.inBits());
    EXPECT_EQ(map.apply(x ^ y), map.apply(x) ^ map.apply(y));
  }
}

TEST(LinearMap, AfterAppliesTheInnerMapFirst) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    uint32_t middle = random() % 63;
    LinearMap inner = randomMap(random, random() % 63, middle);
    LinearMap outer = randomMap(random, middle, random() % 63);
    uint64_t x = random() & mask(inner.inBits());
    EXPECT_EQ(outer.after(inner).apply(x), outer.apply(inner.apply(x)));
  }
}

TEST(LinearMap, CompositionIsAssociative) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    LinearMap a = randomMap(random, 7, 9), b = randomMap(random, 9, 5),
              c = randomMap(random, 5, 11);
    EXPECT_EQ(c.after(b).after(a), c.after(b.after(a)));
  }
}

TEST(LinearMap, IdentityIsNeutral) {
  std::mt19937_64 random(4);
  LinearMap map = randomMap(random, 12, 9);
  EXPECT_EQ(map.after(LinearMap::identity(12)), map);
  EXPECT_EQ(LinearMap::identity(9).after(map), map);
}

TEST(LinearMap, InverseUndoesAnInvertibleMapOnBothSides) {
  std::mt19937_64 random(5);
  for (uint32_t bits = 0; bits <= LinearMap::kMaxBits; ++bits) {
    LinearMap map = randomInvertible(random, bits);
    LinearMap inverse = *map.rightInverse();
    EXPECT_EQ(inverse.after(map), LinearMap::identity(bits));
    EXPECT_EQ(map.after(inverse), LinearMap::identity(bits));
  }
}

TEST(LinearMap, RankIsTheLogarithmOfTheImageSize) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 300; ++i) {
    LinearMap map = randomMap(random, random() % 9, random() % 9);
    EXPECT_EQ(uint64_t(1) << map.rank(), image(map).size());
  }
}

TEST(LinearMap, RightInverseExistsExactlyForSurjectiveMaps) {
  std::mt19937_64 random(7);
  int surjective = 0;
  for (int i = 0; i < 300; ++i) {
    LinearMap map = randomMap(random, random() % 9, random() % 6);
    bool onto = image(map).size() == mask(map.outBits()) + 1;
    auto inverse = map.rightInverse();
    ASSERT_EQ(inverse.has_value(), onto);
    if (!onto)
      continue;
    ++surjective;
    EXPECT_EQ(map.after(*inverse), LinearMap::identity(map.outBits()));
  }
  EXPECT_GT(surjective, 20);
}

TEST(LinearMap, PreimageExistsExactlyOnTheImage) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100; ++i) {
    LinearMap map = randomMap(random, random() % 8, random() % 8);
    std::set<uint64_t> reached = image(map);
    for (uint64_t y = 0; y <= mask(map.outBits()); ++y) {
      auto x = map.preimage(y);
      ASSERT_EQ(x.has_value(), reached.contains(y));
      EXPECT_EQ(x ? map.apply(*x) : y, y);
    }
  }
}

TEST(LinearMap, PreimageLeavesDependentColumnsZero) {
  LinearMap broadcast = *LinearMap::fromColumns({1, 1, 2, 0}, 2);
  EXPECT_EQ(broadcast.preimage(3), uint64_t(0b0101));
}

TEST(LinearMap, KernelHasTheMissingRankAndMapsToZero) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 200; ++i) {
    LinearMap map = randomMap(random, random() % 20, random() % 10);
    std::vector<uint64_t> kernel = map.kernel();
    ASSERT_EQ(kernel.size(), map.inBits() - map.rank());
    for (uint64_t x : kernel)
      EXPECT_EQ(map.apply(x), 0u);
    EXPECT_TRUE(LinearMap::fromColumns(kernel, map.inBits())->isInjective());
  }
}

TEST(LinearMap, AboveActsOnLowAndHighBitsApart) {
  std::mt19937_64 random(10);
  LinearMap low = randomMap(random, 3, 5), high = randomMap(random, 4, 2);
  LinearMap both = *high.above(low);
  for (uint64_t x = 0; x < 128; ++x)
    EXPECT_EQ(both.apply(x), low.apply(x & 7) | high.apply(x >> 3) << 5);
}

TEST(LinearMap, QuotientUndoesAbove) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    LinearMap low = randomMap(random, random() % 6, random() % 6);
    LinearMap high = randomMap(random, random() % 6, random() % 6);
    EXPECT_EQ(high.above(low)->quotient(low), high);
  }
}

TEST(LinearMap, QuotientIsRefusedWhereHighBitsReachLowOnes) {
  LinearMap low = LinearMap::identity(2);
  EXPECT_FALSE(LinearMap::fromColumns({1, 2, 5}, 3)->quotient(low));
  EXPECT_FALSE(LinearMap::fromColumns({1, 6, 4}, 3)->quotient(low));
  EXPECT_FALSE(LinearMap::identity(1).quotient(low));
}

TEST(LinearMap, ColumnsBeyondTheOutputAreRefused) {
  EXPECT_EQ(LinearMap::fromColumns({1, 4}, 2).error().code, Code::InvalidArgument);
}

TEST(LinearMap, MoreThanTheMostBitsAreRefused) {
  EXPECT_FALSE(LinearMap::fromColumns(std::vector<uint64_t>(63), 1));
  EXPECT_FALSE(LinearMap::fromColumns({}, 63));
  EXPECT_EQ(LinearMap::identity(40).above(LinearMap::identity(30)).error().code, Code::Exhausted);
}

TEST(LinearMap, PrintsColumnsInHexadecimal) {
  EXPECT_EQ(LinearMap::fromColumns({1, 0x1f}, 5)->toString(), "[1 1f | 5 bits]");
}

} // namespace
} // namespace sinter::layout
