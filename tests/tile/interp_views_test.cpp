// Views in the interpreter: padding, dropped stores, strides, windows, gathers and packed rows.
#include "tile/interp_support.h"

#include <numeric>

namespace sinter::tile {
namespace {

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// A kernel of one program over %x and %y with the constants %c0 to %c4 and %cm1 = -1.
std::string kernel(const std::string &xType, const std::string &yType, const std::string &body,
                   const std::string &more = "") {
  std::string text = "tile.kernel @k(%x: " + xType + ", %y: " + yType + more + ") {\n";
  for (int i = 0; i < 5; ++i)
    text += "%c" + std::to_string(i) + " = arith.constant " + std::to_string(i) + " : index\n";
  return text + "%cm1 = arith.constant -1 : index\ntile.grid %c1, %c1, %c1\n" + body + "\n}";
}

// The six elements of a [2, 3] tile that `load` (to %t) gives from x = [3, 4] counting up.
std::vector<float> loaded(const std::string &load) {
  auto x = counting(12);
  std::vector<float> y(6, -1.0f);
  auto result = runKernel(kernel("!tile.view<?x?xf32, in>", "!tile.view<2x3xf32, out>",
                                 load + "\ntile.store %t, %y[%c0, %c0] : tensor<2x3xf32>, "
                                        "!tile.view<2x3xf32, out>"),
                          {viewOf(x, {3, 4}), viewOf(y, {2, 3})});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return y;
}
const std::string kFromX = ": !tile.view<?x?xf32, in> -> tensor<2x3xf32>";

TEST(Load, InsideTakesARectangle) {
  EXPECT_EQ(loaded("%t = tile.load %x[%c1, %c1] " + kFromX),
            (std::vector<float>{5, 6, 7, 9, 10, 11}));
}

TEST(Load, PastTheEndGivesZero) {
  EXPECT_EQ(loaded("%t = tile.load %x[%c2, %c2] " + kFromX),
            (std::vector<float>{10, 11, 0, 0, 0, 0}));
}

TEST(Load, BeforeTheStartGivesZero) {
  EXPECT_EQ(loaded("%t = tile.load %x[%cm1, %cm1] " + kFromX),
            (std::vector<float>{0, 0, 0, 0, 0, 1}));
}

TEST(Load, OutsideGivesThePaddingValue) {
  EXPECT_EQ(loaded("%t = tile.load %x[%c2, %c3] pad(7.5 : f32) " + kFromX),
            (std::vector<float>{11, 7.5f, 7.5f, 7.5f, 7.5f, 7.5f}));
}

TEST(Load, AtTheEdgeOfIndexIsOutside) {
  EXPECT_EQ(loaded("%far = arith.constant 9223372036854775807 : index\n"
                   "%t = tile.load %x[%far, %far] " +
                   kFromX),
            std::vector<float>(6, 0.0f));
  EXPECT_EQ(loaded("%far = arith.constant -9223372036854775808 : index\n"
                   "%t = tile.load %x[%far, %c0] " +
                   kFromX),
            std::vector<float>(6, 0.0f));
}

TEST(Load, OfAScalarOutsideIsZero) {
  std::string scalars = "%s = tile.load_scalar %x[%c2, %c3] : !tile.view<?x?xf32, in> -> f32\n"
                        "%o = tile.load_scalar %x[%c3, %c0] : !tile.view<?x?xf32, in> -> f32\n"
                        "%d = arith.subf %s, %o : f32\n"
                        "%t = tile.splat %d : f32 -> tensor<2x3xf32>";
  EXPECT_EQ(loaded(scalars), std::vector<float>(6, 11.0f));
}

TEST(Store, OutsideIsDroppedAndLeavesNeighboursAlone) {
  auto x = counting(6);
  std::vector<float> y(12, -1.0f);
  auto result =
      runKernel(kernel("!tile.view<2x3xf32, in>", "!tile.view<?x?xf32, out>",
                       "%t = tile.load %x[%c0, %c0] : !tile.view<2x3xf32, in> -> tensor<2x3xf32>\n"
                       "tile.store %t, %y[%c2, %cm1] : tensor<2x3xf32>, !tile.view<?x?xf32, out>"),
                {viewOf(x, {2, 3}), viewOf(y, {3, 4})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{-1, -1, -1, -1, -1, -1, -1, -1, 1, 2, -1, -1}));
}

TEST(Strides, OfRowsAndColumnsAreFollowed) {
  auto x = counting(24);
  std::vector<float> y(6, -1.0f);
  auto result = runKernel(
      kernel("!tile.view<2x3xf32, in, strided>", "!tile.view<2x3xf32, out>",
             "%t = tile.load %x[%c0, %c0] : !tile.view<2x3xf32, in, strided> -> tensor<2x3xf32>\n"
             "tile.store %t, %y[%c0, %c0] : tensor<2x3xf32>, !tile.view<2x3xf32, out>"),
      {HostView{reinterpret_cast<std::byte *>(x.data()), {2, 3}, {10, 4}}, viewOf(y, {2, 3})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{0, 4, 8, 10, 14, 18}));
}

TEST(Strides, OtherThanEveryLaunchGivesAreRefused) {
  auto x = counting(24);
  std::vector<float> y(6, -1.0f);
  auto run = [&](int64_t stride) {
    return runKernel(
        kernel("!tile.view<2x3xf32, in> {tile.strides = array<i64: 10, 1>}",
               "!tile.view<2x3xf32, out>",
               "%t = tile.load %x[%c0, %c0] : !tile.view<2x3xf32, in> -> tensor<2x3xf32>\n"
               "tile.store %t, %y[%c0, %c0] : tensor<2x3xf32>, !tile.view<2x3xf32, out>"),
        {HostView{reinterpret_cast<std::byte *>(x.data()), {2, 3}, {stride, 1}},
         viewOf(y, {2, 3})});
  };
  auto result = run(10);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{0, 1, 2, 10, 11, 12}));
  auto other = run(12);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("has stride 12 on axis 0, expected 10"), std::string::npos)
      << other.error().message;
}

TEST(Elements, OfOneBitReadOnlyTheLowestBit) {
  std::vector<uint8_t> x = {2, 3, 255, 0};
  std::vector<int32_t> y(4, -1);
  auto result = runKernel(kernel("!tile.view<4xi1, in>", "!tile.view<4xi32, out>",
                                 "%t = tile.load %x[%c0] : !tile.view<4xi1, in> -> tensor<4xi1>\n"
                                 "%e = arith.extui %t : tensor<4xi1> to tensor<4xi32>\n"
                                 "tile.store %e, %y[%c0] : tensor<4xi32>, !tile.view<4xi32, out>"),
                          {viewOf(x, {4}), viewOf(y, {4})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<int32_t>{0, 1, 1, 0}));
}

// ---- windows ----

std::string window(const std::string &origin, const std::string &extent) {
  return "%w = tile.window %x[" + origin + "] extent [" + extent +
         "] : !tile.view<?x?xf32, in> -> !tile.view<?x?xf32, in>\n";
}

TEST(Window, MovesTheOriginAndEndsAtItsExtent) {
  EXPECT_EQ(loaded(window("%c1, %c1", "%c1, %c2") + "%t = tile.load %w[%c0, %c0] " + kFromX),
            (std::vector<float>{5, 6, 0, 0, 0, 0}));
}

TEST(Window, IsClippedToItsView) {
  std::string dims = "%m = tile.dim %w, 0 : !tile.view<?x?xf32, in>\n"
                     "%n = tile.dim %w, 1 : !tile.view<?x?xf32, in>\n"
                     "%s = arith.muli %m, %c4 : index\n%u = arith.addi %s, %n : index\n"
                     "%i = arith.index_cast %u : index to i32\n%f = arith.sitofp %i : i32 to f32\n"
                     "%t = tile.splat %f : f32 -> tensor<2x3xf32>";
  EXPECT_EQ(loaded(window("%c2, %c1", "%c4, %c2") + dims)[0], 1 * 4 + 2);
  EXPECT_EQ(loaded(window("%c4, %c1", "%c4, %cm1") + dims)[0], 0);
}

TEST(Window, WithANegativeOriginKeepsItsCoordinates) {
  EXPECT_EQ(loaded(window("%cm1, %c0", "%c3, %c3") + "%t = tile.load %w[%c0, %c0] " + kFromX),
            (std::vector<float>{0, 0, 0, 0, 1, 2}));
}

TEST(Window, OfAWindowAddsUp) {
  std::string twice = window("%c1, %c1", "%c2, %c3") +
                      "%v = tile.window %w[%c1, %c1] extent [%c4, %c4] : !tile.view<?x?xf32, in> "
                      "-> !tile.view<?x?xf32, in>\n%t = tile.load %v[%c0, %c0] ";
  EXPECT_EQ(loaded(twice + kFromX), (std::vector<float>{10, 11, 0, 0, 0, 0}));
}

TEST(Window, FarOutsideIsEmpty) {
  std::string far = "%far = arith.constant 9223372036854775807 : index\n"
                    "%min = arith.constant -9223372036854775808 : index\n";
  EXPECT_EQ(
      loaded(far + window("%far, %min", "%far, %far") + "%t = tile.load %w[%c0, %c0] " + kFromX),
      std::vector<float>(6, 0.0f));
}

TEST(Window, ShorterThanItsStaticTypeIsReported) {
  auto x = counting(12);
  std::vector<float> y(6);
  EXPECT_EQ(failureOf(kernel("!tile.view<?x?xf32, in>", "!tile.view<2x3xf32, out>",
                             "%w = tile.window %x[%c2, %c0] extent [%c2, %c4] : "
                             "!tile.view<?x?xf32, in> -> !tile.view<2x?xf32, in>"),
                      {viewOf(x, {3, 4}), viewOf(y, {2, 3})}),
            "kernel.mlir:9:6: 'tile.window' gives extent 1 on axis 0, expected 2 by its type (in "
            "program 0, 0, 0)");
}

// ---- gathers ----

// Loads [4, 3] with `load` (to %t) from %g: pages [3, 2, 3], counting up, through `index`.
std::vector<float> gatheredBy(std::vector<int32_t> index, const std::string &load) {
  auto x = counting(18);
  std::vector<float> y(12, -1.0f);
  auto result = runKernel(
      kernel("!tile.view<?x2x3xf32, in>", "!tile.view<4x3xf32, out>",
             "%g = tile.gather %x, %i : !tile.view<?x2x3xf32, in>, !tile.view<?xi32, in> -> "
             "!tile.view<?x3xf32, in>\n" +
                 load +
                 "\n"
                 "tile.store %t, %y[%c0, %c0] : tensor<4x3xf32>, !tile.view<4x3xf32, out>",
             ", %i: !tile.view<?xi32, in>"),
      {viewOf(x, {3, 2, 3}), viewOf(y, {4, 3}), viewOf(index, {int64_t(index.size())})});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return y;
}

std::vector<float> gathered(std::vector<int32_t> index, const std::string &offsets) {
  return gatheredBy(std::move(index), "%t = tile.load %g[" + offsets +
                                          "] pad(99.0 : f32) : !tile.view<?x3xf32, in> -> "
                                          "tensor<4x3xf32>");
}

TEST(Gather, TakesRowsPageByPage) {
  EXPECT_EQ(gathered({2, 0}, "%c0, %c0"),
            (std::vector<float>{12, 13, 14, 15, 16, 17, 0, 1, 2, 3, 4, 5}));
}

TEST(Gather, BeginsWithinAPageAndEndsWithTheIndex) {
  EXPECT_EQ(gathered({2, 1}, "%c1, %c1"),
            (std::vector<float>{16, 17, 99, 7, 8, 99, 10, 11, 99, 99, 99, 99}));
}

TEST(Gather, ThroughAPageThatDoesNotExistIsPadding) {
  EXPECT_EQ(gathered({3, -1}, "%c0, %c0"), std::vector<float>(12, 99.0f));
}

TEST(Gather, CanBeSeenThroughAWindow) {
  EXPECT_EQ(gatheredBy({2, 0}, "%w = tile.window %g[%c1, %c1] extent [%c2, %c2] : "
                               "!tile.view<?x3xf32, in> -> !tile.view<?x?xf32, in>\n"
                               "%t = tile.load %w[%c0, %c0] : !tile.view<?x?xf32, in> -> "
                               "tensor<4x3xf32>"),
            (std::vector<float>{16, 17, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Gather, OfOneDimensionTakesElements) {
  auto x = counting(8);
  std::vector<float> y(6, -1.0f);
  std::vector<int32_t> index = {3, 0, 7, 1};
  auto result = runKernel(
      kernel("!tile.view<?x2xf32, in>", "!tile.view<6xf32, out>",
             "%g = tile.gather %x, %i : !tile.view<?x2xf32, in>, !tile.view<?xi32, in> -> "
             "!tile.view<?xf32, in>\n"
             "%t = tile.load %g[%c1] : !tile.view<?xf32, in> -> tensor<6xf32>\n"
             "tile.store %t, %y[%c0] : tensor<6xf32>, !tile.view<6xf32, out>",
             ", %i: !tile.view<?xi32, in>"),
      {viewOf(x, {4, 2}), viewOf(y, {6}), viewOf(index, {4})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{7, 0, 1, 0, 0, 2}));
}

TEST(Gather, OfOutPagesScattersRows) {
  auto x = counting(12);
  std::vector<float> y(18, -1.0f);
  std::vector<int32_t> index = {1, 5};
  auto result = runKernel(
      kernel("!tile.view<4x3xf32, in>", "!tile.view<?x2x3xf32, out>",
             "%g = tile.gather %y, %i : !tile.view<?x2x3xf32, out>, !tile.view<?xi32, in> -> "
             "!tile.view<?x3xf32, out>\n"
             "%t = tile.load %x[%c0, %c0] : !tile.view<4x3xf32, in> -> tensor<4x3xf32>\n"
             "tile.store %t, %g[%c0, %c0] : tensor<4x3xf32>, !tile.view<?x3xf32, out>",
             ", %i: !tile.view<?xi32, in>"),
      {viewOf(x, {4, 3}), viewOf(y, {3, 2, 3}), viewOf(index, {2})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y,
            (std::vector<float>{-1, -1, -1, -1, -1, -1, 0, 1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1}));
}

TEST(Interleave, OfFloatsReadsRowsOfGroups) {
  // [4, 3] in groups of two rows: element (r, k) lies at ((r / 2) * 3 + k) * 2 + r mod 2.
  std::vector<float> x(12);
  for (int r = 0; r < 4; ++r)
    for (int k = 0; k < 3; ++k)
      x[(r / 2 * 3 + k) * 2 + r % 2] = float(10 * r + k);
  std::vector<float> y(6, -1.0f);
  std::string type = "!tile.view<?x?xf32, in, interleave = 2>";
  auto result = runKernel(
      kernel(type, "!tile.view<2x3xf32, out>",
             "%w = tile.window %x[%c1, %c1] extent [%c4, %c4] : " + type + " -> " + type +
                 "\n%t = tile.load %w[%c0, %c0] : " + type +
                 " -> tensor<2x3xf32>\n"
                 "tile.store %t, %y[%c0, %c0] : tensor<2x3xf32>, !tile.view<2x3xf32, out>"),
      {viewOf(x, {4, 3}), viewOf(y, {2, 3})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{11, 12, 0, 21, 22, 0}));
}

} // namespace
} // namespace sinter::tile
