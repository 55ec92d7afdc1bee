// The layouts that the compiler builds: arrays, swizzles, packed rows, fragments, products and
// quotients.
#include "layout/layout_make.h"

#include "layout/random_layout.h"

#include <gtest/gtest.h>

namespace sinter::layout {
namespace {

TEST(RowMajor, LastDimRunsFastest) {
  Layout layout = *rowMajor({{"a", 3}, {"b", 5}, {"c", 7}}, "o");
  forEachCoords(layout.ins(), [&](const Coords &at) {
    ASSERT_EQ(layout.offset(at), (at[0] * 5 + at[1]) * 7 + at[2]);
  });
}

TEST(ColumnMajor, FirstDimRunsFastest) {
  Layout layout = *columnMajor({{"a", 3}, {"b", 5}, {"c", 7}}, "o");
  forEachCoords(layout.ins(), [&](const Coords &at) {
    ASSERT_EQ(layout.offset(at), (at[2] * 5 + at[1]) * 3 + at[0]);
  });
}

TEST(Strided, HolesHaveNoPreimage) {
  Layout layout = *strided({{"row", 3, 8}, {"col", 5, 1}}, "o", 24);
  for (uint64_t o = 0; o < 24; ++o)
    EXPECT_EQ(layout.preimage(Coords{o}).has_value(), o % 8 < 5) << o;
}

TEST(Swizzle, IsItsOwnInverse) {
  Layout layout = *swizzle("o", 4096, {3, 4, 3});
  for (uint64_t o = 0; o < 4096; ++o)
    ASSERT_EQ(layout.offset(Coords{layout.offset(Coords{o})}), o);
}

TEST(Swizzle, XorsSixteenByteUnitsWithTheRow) {
  Layout layout = *swizzle("o", 3 * 1024, {3, 4, 3});
  for (uint64_t o = 0; o < 3 * 1024; ++o)
    ASSERT_EQ(layout.offset(Coords{o}), o ^ ((o >> 7 & 7) << 4));
}

TEST(Swizzle, SpreadsAColumnOverAllBanks) {
  // Eight rows of 128 bytes: their first 16-byte units lie in eight different groups of four banks.
  Layout tile = *rowMajor({{"row", 8}, {"byte", 128}}, "o")->then(*swizzle("o", 1024, {3, 4, 3}));
  uint64_t groups = 0;
  for (uint64_t row = 0; row < 8; ++row)
    groups |= uint64_t(1) << (tile.offset(Coords{row, 0}) % 128 / 16);
  EXPECT_EQ(groups, 0xffu);
}

TEST(Swizzle, RefusesAShiftThatOverlaps) {
  EXPECT_EQ(swizzle("o", 64, {3, 0, 2}).error().code, Code::InvalidArgument);
  EXPECT_EQ(swizzle("o", 64, {20, 30, 20}).error().code, Code::InvalidArgument);
}

TEST(InterleavedRows, FollowsItsFormulaForSizesThatAreNoPowersOfTwo) {
  // Rows of a Q4_1 weight: 18 blocks of 20 bytes, 40 rows padded to 48.
  Layout layout = *interleavedRows("row", 40, 4, "byte", 18 * 20, 2, "o");
  EXPECT_EQ(layout.outs()[0].extent, 48u * 360);
  forEachCoords(layout.ins(), [&](const Coords &at) {
    uint64_t row = at[0], byte = at[1];
    ASSERT_EQ(layout.offset(at), ((row / 16) * 90 + byte / 4) * 64 + row % 16 * 4 + byte % 4);
  });
}

TEST(InterleavedRows, IsABijectionOntoThePackedBytes) {
  Layout layout = *interleavedRows("row", 33, 4, "byte", 22, 2, "o");
  EXPECT_TRUE(layout.isInjective());
  EXPECT_TRUE(layout.isSurjective());
}

TEST(InterleavedRows, PackedBytesThatPadAreNotReal) {
  Layout layout = *interleavedRows("row", 17, 4, "byte", 6, 2, "o");
  uint64_t real = 0;
  for (uint64_t o = 0; o < layout.outs()[0].extent; ++o)
    real += layout.isReal(*layout.preimage(Coords{o}));
  EXPECT_EQ(real, 17u * 6);
}

TEST(InterleavedRows, RefusesSizesThatOverflow) {
  EXPECT_EQ(interleavedRows("r", uint64_t(1) << 40, 4, "b", uint64_t(1) << 40, 2, "o").error().code,
            Code::InvalidArgument);
  EXPECT_FALSE(interleavedRows("r", 1, 60, "b", 1, 60, "o"));
}

// The accumulator of wgmma.m64nNk16 (PTX ISA, "Register Fragments and Shared Memory Matrix
// Layouts").
Result<Layout> wgmmaAccumulator(uint64_t columns) {
  std::vector<uint64_t> map{1 << 6, 8,               // register bits: column 0, row 3
                            2 << 6, 4 << 6, 1, 2, 4, // lane bits: columns 1 and 2, rows 0 to 2
                            16,     32};             // warp bits: rows 4 and 5
  SINTER_ASSIGN(LinearMap atom, LinearMap::fromColumns(map, 9));
  return Layout::make({{"register", columns / 2, 2}, {"lane", 32, 5}, {"warp", 4, 2}},
                      {{"row", 64, 6}, {"col", columns, 3}}, atom, {{0, columns / 8, 1, 1}});
}

TEST(Fragments, WgmmaAccumulatorsFollowTheirFormulaAtAnyWidth) {
  Layout layout = *wgmmaAccumulator(24);
  forEachCoords(layout.ins(), [&](const Coords &at) {
    uint64_t r = at[0], lane = at[1], warp = at[2];
    ASSERT_EQ(layout.apply(at),
              (Coords{warp * 16 + lane / 4 + r / 2 % 2 * 8, r / 4 * 8 + lane % 4 * 2 + r % 2}));
  });
}

TEST(Fragments, StoresKnowTheirVectorWidth) {
  Layout layout = *wgmmaAccumulator(24);
  EXPECT_EQ(layout.contiguousRun(*layout.findIn("register"), *layout.findOut("col")), 2u);
}

TEST(Fragments, AccumulatorsComposeWithSwizzledSharedMemory) {
  Layout accumulator = *wgmmaAccumulator(64);
  Layout memory = *rowMajor({{"row", 64}, {"col", 64}}, "o")->then(*swizzle("o", 4096, {3, 3, 3}));
  auto both = accumulator.then(memory);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_TRUE(both->isInjective());
  forEachCoords(accumulator.ins(), [&](const Coords &at) {
    ASSERT_EQ(both->offset(at), memory.offset(accumulator.apply(at)));
  });
}

TEST(Product, StacksDimsOfTheSameName) {
  Layout inner = *atomLayout({{"lane", 4, 2}}, {{"row", 4, 2}}, *LinearMap::fromColumns({2, 1}, 2));
  Layout outer = *strided({{"lane", 3, 2}}, "row", 6);
  Layout both = *product(inner, outer);
  forEachCoords(both.ins(), [&](const Coords &at) {
    uint64_t expected = inner.apply(Coords{at[0] % 4})[0] + 4 * outer.apply(Coords{at[0] / 4})[0];
    ASSERT_EQ(both.apply(at)[0], expected);
  });
}

TEST(Product, PutsOtherDimsBesideEachOther) {
  Layout both = *product(*identityLayout({{"a", 6, 1}}), *identityLayout({{"b", 5, 0}}));
  forEachCoords(both.ins(), [&](const Coords &at) { ASSERT_EQ(both.apply(at), at); });
  EXPECT_EQ(both.ins().size(), 2u);
}

TEST(Product, AgreesWithItsFactorsOnRandomLayouts) {
  std::mt19937_64 random(1);
  int built = 0;
  for (int i = 0; i < 600; ++i) {
    Layout inner = randomLayout(random, {.bijective = true}), outer = randomLayout(random);
    auto both = product(inner, outer);
    if (!both) {
      ASSERT_EQ(both.error().code, Code::Unsupported);
      continue;
    }
    ++built;
    uint64_t in[2] = {inner.ins()[0].padded(), inner.ins()[1].padded()};
    uint64_t out[2] = {inner.outs()[0].padded(), inner.outs()[1].padded()};
    forEachCoords(both->ins(), [&](const Coords &at) {
      Coords low = inner.apply(Coords{at[0] % in[0], at[1] % in[1]});
      Coords high = outer.apply(Coords{at[0] / in[0], at[1] / in[1]});
      ASSERT_EQ(both->apply(at), (Coords{low[0] + out[0] * high[0], low[1] + out[1] * high[1]}));
    });
  }
  EXPECT_GT(built, 100);
}

TEST(Product, RefusesToStackOnPadding) {
  Layout padded = *identityLayout({{"x", 3, 2}});
  EXPECT_EQ(product(padded, *identityLayout({{"x", 2, 0}})).error().code, Code::Unsupported);
}

TEST(Quotient, UndoesProduct) {
  std::mt19937_64 random(2);
  Layout tile = *atomLayout({{"x", 4, 2}, {"y", 2, 1}}, {{"u", 2, 1}, {"v", 4, 2}},
                            *LinearMap::fromColumns({2, 1, 4}, 3));
  for (int i = 0; i < 200; ++i) {
    Layout outer = randomLayout(random, {.bijective = true});
    auto whole = product(tile, outer);
    ASSERT_TRUE(whole) << whole.error().message;
    auto rest = quotient(*whole, tile);
    ASSERT_TRUE(rest) << rest.error().message;
    forEachCoords(outer.ins(),
                  [&](const Coords &at) { ASSERT_EQ(rest->apply(at), outer.apply(at)); });
  }
}

TEST(Quotient, FindsTheMatrixLoadInAnAccumulator) {
  // stmatrix stores 8 x 8 tiles: each lane two neighbouring columns of a row.
  Layout tile = *atomLayout({{"register", 2, 1}, {"lane", 32, 5}}, {{"row", 8, 3}, {"col", 8, 3}},
                            *LinearMap::fromColumns({8, 16, 32, 1, 2, 4}, 6));
  auto rest = quotient(*wgmmaAccumulator(24), tile);
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->ins()[0].extent, 6u);
  EXPECT_EQ(rest->ins()[1].extent, 1u);
}

TEST(Quotient, RefusesATileOfAnotherShape) {
  Layout transposed = *atomLayout({{"register", 2, 1}}, {{"row", 2, 1}}, LinearMap::identity(1));
  EXPECT_EQ(quotient(*wgmmaAccumulator(24), transposed).error().code, Code::Unsupported);
  Layout unknown = *atomLayout({{"block", 2, 1}}, {{"row", 2, 1}}, LinearMap::identity(1));
  EXPECT_EQ(quotient(*wgmmaAccumulator(24), unknown).error().code, Code::Unsupported);
}

} // namespace
} // namespace sinter::layout
