// Layouts: applying, inverting and composing agree with enumeration, on random layouts and on real
// ones.
#include "layout/layout.h"

#include "layout/layout_make.h"
#include "layout/random_layout.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace sinter::layout {
namespace {

constexpr int kRounds = 400;

// How many inputs reach each output, by enumeration.
std::map<Coords, uint64_t> hits(const Layout &layout) {
  std::map<Coords, uint64_t> seen;
  forEachCoords(layout.ins(), [&](const Coords &in) { ++seen[layout.apply(in)]; });
  return seen;
}

uint64_t paddedSize(std::span<const Dim> dims) {
  uint64_t size = 1;
  for (const Dim &dim : dims)
    size *= dim.padded();
  return size;
}

Code codeOf(const Result<Layout> &result) {
  EXPECT_FALSE(result.has_value());
  return result ? Code::Internal : result.error().code;
}

TEST(Layout, ApplyFollowsItsFormula) {
  // x = 4 * (3 * b + a) + low, with a -> u * 2 and b -> v * 1; the atom swaps its two bits into u
  // and v.
  Layout layout = *Layout::make({{"x", 24, 2}}, {{"u", 10, 1}, {"v", 4, 1}},
                                *LinearMap::fromColumns({2, 1}, 2), {{0, 3, 0, 2}, {0, 2, 1, 1}});
  for (uint64_t x = 0; x < 24; ++x) {
    uint64_t a = x / 4 % 3, b = x / 12;
    EXPECT_EQ(layout.apply(Coords{x}), (Coords{a * 2 * 2 + x / 2 % 2, b * 2 + x % 2}));
  }
}

TEST(Layout, ImagesStayBelowThePaddedOutputs) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random);
    for (const auto &[out, count] : hits(layout))
      for (size_t o = 0; o < out.size(); ++o)
        ASSERT_LT(out[o], layout.outs()[o].padded()) << layout.toString();
  }
}

TEST(Layout, InjectiveMeansThatNoTwoInputsMeet) {
  std::mt19937_64 random(2);
  int injective = 0;
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random);
    bool expected = hits(layout).size() == paddedSize(layout.ins());
    ASSERT_EQ(layout.isInjective(), expected) << layout.toString();
    injective += expected;
  }
  EXPECT_GT(injective, 20);
  EXPECT_LT(injective, kRounds - 20);
}

TEST(Layout, SurjectiveMeansThatEachOutputIsReached) {
  std::mt19937_64 random(3);
  int surjective = 0;
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random);
    bool expected = hits(layout).size() == paddedSize(layout.outs());
    ASSERT_EQ(layout.isSurjective(), expected) << layout.toString();
    surjective += expected;
  }
  EXPECT_GT(surjective, 20);
  EXPECT_LT(surjective, kRounds - 20);
}

TEST(Layout, PreimageExistsExactlyWhereAnInputLands) {
  std::mt19937_64 random(4);
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random);
    ASSERT_TRUE(layout.isSeparable());
    auto reached = hits(layout);
    forEachCoords(layout.outs(), [&](const Coords &out) {
      auto in = layout.preimage(out);
      ASSERT_EQ(in.has_value(), reached.contains(out)) << layout.toString();
      ASSERT_EQ(in ? layout.apply(*in) : out, out) << layout.toString();
    });
  }
}

TEST(Layout, InverseUndoesABijectionOnBothSides) {
  std::mt19937_64 random(5);
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random, {.bijective = true});
    auto inverse = layout.rightInverse();
    ASSERT_TRUE(inverse) << layout.toString();
    forEachCoords(layout.ins(),
                  [&](const Coords &in) { ASSERT_EQ(inverse->apply(layout.apply(in)), in); });
    forEachCoords(layout.outs(),
                  [&](const Coords &out) { ASSERT_EQ(layout.apply(inverse->apply(out)), out); });
  }
}

TEST(Layout, RightInverseExistsExactlyForSurjectiveLayouts) {
  std::mt19937_64 random(6);
  int found = 0;
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random);
    auto inverse = layout.rightInverse();
    ASSERT_EQ(inverse.has_value(), layout.isSurjective()) << layout.toString();
    if (!inverse)
      continue;
    ++found;
    forEachCoords(layout.outs(),
                  [&](const Coords &out) { ASSERT_EQ(layout.apply(inverse->apply(out)), out); });
  }
  EXPECT_GT(found, 20);
}

TEST(Layout, ALayoutThenItsInverseIsTheIdentity) {
  std::mt19937_64 random(7);
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random, {.bijective = true});
    auto inverse = layout.rightInverse();
    auto both = layout.then(renamed(*inverse, {"u", "v"}, {"x2", "y2"}));
    ASSERT_TRUE(both) << both.error().message;
    forEachCoords(layout.ins(), [&](const Coords &in) { ASSERT_EQ(both->apply(in), in); });
  }
}

TEST(Layout, ThenAppliesBothWhereItExists) {
  std::mt19937_64 random(8);
  int composed = 0;
  for (int i = 0; i < 20 * kRounds; ++i) {
    Layout inner = randomLayout(random),
           outer = renamed(randomLayout(random), {"v", "u"}, {"s", "t"});
    auto both = inner.then(outer);
    if (!both) {
      ASSERT_EQ(both.error().code, Code::Unsupported);
      continue;
    }
    ++composed;
    forEachCoords(inner.ins(), [&](const Coords &in) {
      Coords middle = inner.apply(in);
      ASSERT_EQ(both->apply(in), outer.apply(Coords{middle[1], middle[0]}));
    });
  }
  EXPECT_GT(composed, 200);
}

TEST(Layout, ThenIsAssociative) {
  std::mt19937_64 random(9);
  Layout rows = *rowMajor({{"x", 6}, {"y", 32}}, "o");
  Layout swizzled = renamed(*swizzle("o", 192, {1, 2, 3}), {"o"}, {"p"});
  Layout split = *Layout::make({{"p", 192, 0}}, {{"s", 12, 0}, {"t", 16, 0}}, LinearMap(),
                               {{0, 16, 1, 1}, {0, 12, 0, 1}});
  Layout left = *rows.then(swizzled)->then(split), right = *rows.then(*swizzled.then(split));
  forEachCoords(rows.ins(), [&](const Coords &in) { ASSERT_EQ(left.apply(in), right.apply(in)); });
}

TEST(Layout, ThenRefusesOtherNames) {
  Layout a = *identityLayout({{"x", 4, 1}}), b = *identityLayout({{"y", 4, 1}});
  EXPECT_EQ(codeOf(a.then(b)), Code::InvalidArgument);
}

TEST(Layout, ThenRefusesToReachOutside) {
  Layout large = *identityLayout({{"x", 6, 0}}), small = *identityLayout({{"x", 4, 0}});
  EXPECT_EQ(codeOf(large.then(small)), Code::Unsupported);
  EXPECT_TRUE(small.then(large));
}

TEST(Layout, ThenRefusesRepeatsThatWouldCarry) {
  // 0..3 and 0..4 in steps of 1 sum to 6, beyond the first digit (4) of the second layout.
  Layout overlap = *strided({{"x", 4, 1}, {"y", 4, 1}}, "o", 8);
  Layout digits =
      *Layout::make({{"o", 8, 0}}, {{"s", 14, 0}}, LinearMap(), {{0, 4, 0, 1}, {0, 2, 0, 10}});
  EXPECT_EQ(codeOf(overlap.then(digits)), Code::Unsupported);
}

TEST(Layout, GrowingTheAtomKeepsTheMap) {
  std::mt19937_64 random(10);
  int grown = 0;
  for (int i = 0; i < 4 * kRounds; ++i) {
    Layout layout = randomLayout(random);
    uint32_t dim = random() % 2;
    auto wide = random() % 2 ? layout.withInAtom(dim, layout.ins()[dim].atomBits + 1)
                             : layout.withOutAtom(dim, layout.outs()[dim].atomBits + 1);
    if (!wide)
      continue;
    ++grown;
    ASSERT_EQ(wide->atom().inBits() > layout.atom().inBits(), true);
    forEachCoords(layout.ins(),
                  [&](const Coords &in) { ASSERT_EQ(wide->apply(in), layout.apply(in)); });
  }
  EXPECT_GT(grown, 50);
}

// Whether every `run` inputs along `in`, from multiples of `run`, lie consecutively along `out`.
bool isRun(const Layout &layout, uint32_t in, uint32_t out, uint64_t run) {
  bool holds = true;
  forEachCoords(layout.ins(), [&](const Coords &at) {
    Coords first = at;
    first[in] -= first[in] % run;
    Coords expected = layout.apply(first);
    expected[out] += at[in] - first[in];
    holds &= layout.apply(at) == expected;
  });
  return holds;
}

TEST(Layout, AContiguousRunIsContiguousAndNoMultipleOfItIs) {
  std::mt19937_64 random(11);
  uint64_t longest = 0;
  for (int i = 0; i < kRounds; ++i) {
    Layout layout = randomLayout(random, {.bijective = i % 2 == 0});
    uint32_t in = random() % 2, out = random() % 2;
    uint64_t run = layout.contiguousRun(in, out);
    longest = std::max(longest, run);
    ASSERT_TRUE(isRun(layout, in, out, run)) << layout.toString();
    for (uint64_t longer = 2 * run; longer <= layout.ins()[in].padded(); longer += run)
      ASSERT_TRUE(layout.ins()[in].padded() % longer != 0 || !isRun(layout, in, out, longer))
          << longer << " " << layout.toString();
  }
  EXPECT_GT(longest, 4u);
}

TEST(Layout, ARunEndsWhereTheSwizzleBegins) {
  Layout tile = *rowMajor({{"row", 8}, {"byte", 128}}, "o");
  EXPECT_EQ(tile.contiguousRun(1, 0), 128u);
  EXPECT_EQ(tile.then(*swizzle("o", 1024, {3, 4, 3}))->contiguousRun(1, 0), 16u);
}

TEST(Layout, ConversionFindsEachElementInTheOtherLayout) {
  std::mt19937_64 random(12);
  for (int i = 0; i < kRounds; ++i) {
    Layout from = randomLayout(random, {.bijective = true});
    auto moves = conversion(from, from);
    ASSERT_TRUE(moves) << moves.error().message;
    forEachCoords(from.ins(), [&](const Coords &in) { ASSERT_EQ(moves->apply(in), in); });
  }
}

TEST(Layout, ConversionReadsOneOfSeveralCopies) {
  // Two lanes hold the same element; the other layout keeps each element in one register.
  Layout copies = *atomLayout({{"lane", 4, 2}}, {{"e", 2, 1}}, *LinearMap::fromColumns({0, 1}, 1));
  Layout single = *atomLayout({{"register", 2, 1}}, {{"e", 2, 1}}, LinearMap::identity(1));
  EXPECT_EQ(conversion(copies, single)->apply(Coords{1}), Coords{2});
}

TEST(Layout, AnEmptyLayoutIsInjectiveAndReachesNothing) {
  Layout layout = *rowMajor({{"row", 0}, {"col", 5}}, "o");
  EXPECT_TRUE(layout.isEmpty());
  EXPECT_TRUE(layout.isInjective());
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_EQ(layout.contiguousRun(1, 0), 0u);
}

TEST(Layout, AnEmptyLayoutComposesAndInverts) {
  Layout layout = *rowMajor({{"row", 0}, {"col", 5}}, "o");
  EXPECT_TRUE(layout.then(*swizzle("o", 64, {1, 1, 2}))->isEmpty());
  EXPECT_TRUE(layout.rightInverse()->isEmpty());
}

TEST(Layout, PaddedCoordinatesAreNotReal) {
  Layout layout = *identityLayout({{"x", 5, 2}});
  EXPECT_EQ(layout.ins()[0].padded(), 8u);
  EXPECT_TRUE(layout.isReal(Coords{4}));
  EXPECT_FALSE(layout.isReal(Coords{5}));
}

TEST(Layout, RepeatsThatAreOneLoopAreMerged) {
  Layout split =
      *Layout::make({{"x", 12, 0}}, {{"o", 12, 0}}, LinearMap(), {{0, 3, 0, 1}, {0, 4, 0, 3}});
  EXPECT_EQ(split, *strided({{"x", 12, 1}}, "o", 12));
}

TEST(LayoutMake, RefusesRepeatsThatDoNotFillTheirInput) {
  EXPECT_EQ(codeOf(Layout::make({{"x", 7, 0}}, {{"o", 8, 0}}, LinearMap(), {{0, 6, 0, 1}})),
            Code::InvalidArgument);
}

TEST(LayoutMake, RefusesImagesOutsideTheOutput) {
  EXPECT_EQ(codeOf(strided({{"x", 3, 4}}, "o", 8)), Code::InvalidArgument);
  EXPECT_TRUE(strided({{"x", 3, 4}}, "o", 9));
}

TEST(LayoutMake, RefusesDimsThatAreNamelessOrThereTwice) {
  EXPECT_EQ(codeOf(identityLayout({{"x", 2, 0}, {"x", 2, 0}})), Code::InvalidArgument);
  EXPECT_EQ(codeOf(identityLayout({{"", 2, 0}})), Code::InvalidArgument);
}

TEST(LayoutMake, RefusesAnAtomOfOtherBits) {
  EXPECT_EQ(codeOf(atomLayout({{"x", 4, 2}}, {{"o", 4, 2}}, LinearMap::identity(3))),
            Code::InvalidArgument);
}

TEST(LayoutMake, RefusesRepeatsOfMissingDims) {
  EXPECT_EQ(codeOf(Layout::make({{"x", 2, 0}}, {{"o", 2, 0}}, LinearMap(), {{0, 2, 1, 1}})),
            Code::InvalidArgument);
  EXPECT_EQ(codeOf(Layout::make({{"x", 2, 0}}, {{"o", 2, 0}}, LinearMap(), {{7, 2, 0, 1}})),
            Code::InvalidArgument);
}

TEST(LayoutMake, RefusesSizesThatOverflow) {
  constexpr uint64_t kHuge = uint64_t(1) << 61;
  EXPECT_EQ(codeOf(rowMajor({{"x", kHuge}, {"y", 16}}, "o")), Code::InvalidArgument);
  EXPECT_EQ(codeOf(columnMajor({{"x", kHuge}, {"y", 16}, {"z", 2}}, "o")), Code::InvalidArgument);
  EXPECT_EQ(codeOf(strided({{"x", 3, ~uint64_t(0)}}, "o", 8)), Code::InvalidArgument);
  EXPECT_EQ(codeOf(identityLayout({{"x", ~uint64_t(0), 0}})), Code::InvalidArgument);
  EXPECT_EQ(codeOf(identityLayout({{"x", 2, 63}})), Code::InvalidArgument);
  EXPECT_EQ(codeOf(identityLayout({{"x", 2, ~uint32_t(0)}, {"y", 2, 5}})), Code::InvalidArgument);
}

} // namespace
} // namespace sinter::layout
