// The tile dialect's operations on tiles in the interpreter: places of elements, reductions, dots.
#include "tile/interp_support.h"

#include "numeric/half.h"

#include <cmath>
#include <numeric>

namespace sinter::tile {
namespace {

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// Maps 0, 1, ..., n-1 through `body` from %a : tensor<nxf32> to %r of the same type.
std::vector<float> places(size_t n, const std::string &body) {
  return runOnTiles<float>("f32", "f32", body, counting(n));
}

TEST(Places, SplatRepeatsAScalar) {
  EXPECT_EQ(places(3, "%s = arith.constant 2.5 : f32\n%r = tile.splat %s : f32 -> tensor<3xf32>"),
            (std::vector<float>{2.5f, 2.5f, 2.5f}));
}

TEST(Places, IotaCountsAlongItsAxis) {
  auto run = [](const std::string &axis) {
    return runOnTiles<int32_t>("f32", "i32",
                               "%i = tile.iota " + axis +
                                   " : tensor<2x3xi32>\n"
                                   "%r = tile.reshape %i : tensor<2x3xi32> -> tensor<6xi32>",
                               std::vector<float>(6));
  };
  EXPECT_EQ(run("0"), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(run("1"), (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Places, BroadcastRepeatsExtentsOfOne) {
  EXPECT_EQ(places(6, "%s = tile.slice %a [0] : tensor<6xf32> -> tensor<2xf32>\n"
                      "%c = tile.reshape %s : tensor<2xf32> -> tensor<2x1xf32>\n"
                      "%w = tile.broadcast %c : tensor<2x1xf32> -> tensor<2x3xf32>\n"
                      "%r = tile.reshape %w : tensor<2x3xf32> -> tensor<6xf32>"),
            (std::vector<float>{0, 0, 0, 1, 1, 1}));
}

TEST(Places, PermuteTakesAxesInTheGivenOrder) {
  EXPECT_EQ(places(24, "%s = tile.reshape %a : tensor<24xf32> -> tensor<2x3x4xf32>\n"
                       "%p = tile.permute %s [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>\n"
                       "%r = tile.reshape %p : tensor<4x2x3xf32> -> tensor<24xf32>"),
            (std::vector<float>{0, 4, 8,  12, 16, 20, 1, 5, 9,  13, 17, 21,
                                2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23}));
}

TEST(Places, SliceTakesARectangle) {
  EXPECT_EQ(places(12, "%s = tile.reshape %a : tensor<12xf32> -> tensor<3x4xf32>\n"
                       "%c = tile.slice %s [1, 2] : tensor<3x4xf32> -> tensor<2x2xf32>\n"
                       "%f = tile.reshape %c : tensor<2x2xf32> -> tensor<4xf32>\n"
                       "%r = tile.concat %f, %f, %f axis 0 : tensor<4xf32>, tensor<4xf32>, "
                       "tensor<4xf32> -> tensor<12xf32>"),
            (std::vector<float>{6, 7, 10, 11, 6, 7, 10, 11, 6, 7, 10, 11}));
}

TEST(Places, ConcatJoinsAlongAnInnerAxis) {
  EXPECT_EQ(places(6, "%s = tile.reshape %a : tensor<6xf32> -> tensor<2x3xf32>\n"
                      "%x = tile.slice %s [0, 0] : tensor<2x3xf32> -> tensor<2x1xf32>\n"
                      "%y = tile.slice %s [0, 1] : tensor<2x3xf32> -> tensor<2x2xf32>\n"
                      "%c = tile.concat %y, %x axis 1 : tensor<2x2xf32>, tensor<2x1xf32> -> "
                      "tensor<2x3xf32>\n"
                      "%r = tile.reshape %c : tensor<2x3xf32> -> tensor<6xf32>"),
            (std::vector<float>{1, 2, 0, 4, 5, 3}));
}

// ---- reduce ----

std::vector<float> reduced(const std::string &kind, const std::vector<float> &values) {
  std::string n = std::to_string(values.size());
  return runOnTiles<float>("f32", "f32",
                           "%s = tile.reduce " + kind + " %a axis 0 : tensor<" + n +
                               "xf32> -> tensor<1xf32>\n%r = tile.broadcast %s : tensor<1xf32> -> "
                               "tensor<" +
                               n + "xf32>",
                           values);
}

TEST(Reduce, SumGoesInAscendingOrder) {
  // Any other order keeps some of the ones.
  EXPECT_EQ(reduced("sum", {0x1p24f, 1, 1, 1, 1})[0], 0x1p24f);
  EXPECT_EQ(reduced("sum", {1, 1, 1, 1, 0x1p24f})[0], 0x1p24f + 4);
}

TEST(Reduce, MaxAndMinPropagateNan) {
  EXPECT_EQ(reduced("max", {1, 7, -3})[0], 7);
  EXPECT_EQ(reduced("min", {1, 7, -3})[0], -3);
  EXPECT_TRUE(std::isnan(reduced("max", {1, NAN, 3})[0]));
  EXPECT_TRUE(std::isnan(reduced("min", {NAN, 1, 3})[0]));
}

TEST(Reduce, MaxAndMinPutNegativeZeroBelowZero) {
  EXPECT_FALSE(std::signbit(reduced("max", {-0.0f, 0.0f})[0]));
  EXPECT_FALSE(std::signbit(reduced("max", {0.0f, -0.0f})[0]));
  EXPECT_TRUE(std::signbit(reduced("min", {-0.0f, 0.0f})[0]));
  EXPECT_TRUE(std::signbit(reduced("min", {0.0f, -0.0f})[0]));
}

TEST(Reduce, OfAMiddleAxisKeepsTheOthers) {
  EXPECT_EQ(places(12, "%s = tile.reshape %a : tensor<12xf32> -> tensor<2x3x2xf32>\n"
                       "%m = tile.reduce sum %s axis 1 : tensor<2x3x2xf32> -> tensor<2x1x2xf32>\n"
                       "%w = tile.broadcast %m : tensor<2x1x2xf32> -> tensor<2x3x2xf32>\n"
                       "%r = tile.reshape %w : tensor<2x3x2xf32> -> tensor<12xf32>"),
            (std::vector<float>{6, 9, 6, 9, 6, 9, 24, 27, 24, 27, 24, 27}));
}

TEST(Reduce, OfF16RoundsEachStep) {
  // 2048 + 1 rounds back to 2048 every time.
  std::vector<uint16_t> values = {0x6800, 0x3c00, 0x3c00, 0x3c00};
  EXPECT_EQ(runOnTiles<uint16_t>("f16", "f16",
                                 "%s = tile.reduce sum %a axis 0 : tensor<4xf16> -> tensor<1xf16>\n"
                                 "%r = tile.broadcast %s : tensor<1xf16> -> tensor<4xf16>",
                                 values)[0],
            0x6800);
}

TEST(Reduce, OfIntegersIsSignedAndWraps) {
  auto run = [](const std::string &kind) {
    return runOnTiles<int8_t>(
        "i8", "i8",
        "%s = tile.reduce " + kind +
            " %a axis 0 : tensor<3xi8> -> "
            "tensor<1xi8>\n%r = tile.broadcast %s : tensor<1xi8> -> tensor<3xi8>",
        std::vector<int8_t>{100, -1, 100})[0];
  };
  EXPECT_EQ(run("sum"), static_cast<int8_t>(199));
  EXPECT_EQ(run("max"), 100);
  EXPECT_EQ(run("min"), -1);
}

// ---- dot ----

// a is [2, 3] in the first six elements of %a, b [3, 2] (or [2, 3]) in the next six.
std::vector<float> dot(const std::string &bShape, const std::string &suffix) {
  return places(12, "%x = tile.slice %a [0] : tensor<12xf32> -> tensor<6xf32>\n"
                    "%y = tile.slice %a [6] : tensor<12xf32> -> tensor<6xf32>\n"
                    "%l = tile.reshape %x : tensor<6xf32> -> tensor<2x3xf32>\n"
                    "%m = tile.reshape %y : tensor<6xf32> -> tensor<" +
                        bShape +
                        "xf32>\n"
                        "%i = arith.constant dense<[[100.0, 0.0], [0.0, 0.0]]> : tensor<2x2xf32>\n"
                        "%d = tile.dot %l, %m, %i" +
                        suffix + " : tensor<2x3xf32>, tensor<" + bShape +
                        "xf32>, tensor<2x2xf32> -> tensor<2x2xf32>\n"
                        "%f = tile.reshape %d : tensor<2x2xf32> -> tensor<4xf32>\n"
                        "%r = tile.concat %f, %f, %f axis 0 : tensor<4xf32>, tensor<4xf32>, "
                        "tensor<4xf32> -> tensor<12xf32>");
}

TEST(Dot, AddsRowsTimesColumnsToTheAccumulator) {
  auto found = dot("3x2", "");
  found.resize(4);
  EXPECT_EQ(found, (std::vector<float>{128, 31, 100, 112}));
}

TEST(Dot, OfATransposedBTakesRowsTimesRows) {
  auto found = dot("2x3", " transpose_b");
  found.resize(4);
  EXPECT_EQ(found, (std::vector<float>{123, 32, 86, 122}));
}

TEST(Dot, OfF16AndBf16AccumulatesInF32) {
  // The sum 2049 does not exist in f16 or bf16.
  for (std::string type : {"f16", "bf16"}) {
    std::vector<uint16_t> a = {f32ToF16(64), f32ToF16(1)};
    if (type == "bf16")
      a = {f32ToBf16(64), f32ToBf16(1)};
    std::string body = "%l = tile.reshape %a : tensor<2x" + type + "> -> tensor<1x2x" + type +
                       ">\n%i = arith.constant dense<-2047.0> : tensor<1x1xf32>\n"
                       "%d = tile.dot %l, %l, %i transpose_b : tensor<1x2x" +
                       type + ">, tensor<1x2x" + type +
                       ">, tensor<1x1xf32> -> tensor<1x1xf32>\n"
                       "%b1 = tile.broadcast %d : tensor<1x1xf32> -> tensor<1x2xf32>\n"
                       "%r = tile.reshape %b1 : tensor<1x2xf32> -> tensor<2xf32>";
    EXPECT_EQ(runOnTiles<float>(type, "f32", body, a)[0], 64 * 64 + 1 - 2047) << type;
  }
}

TEST(Dot, OfFloats8IsExact) {
  std::string body = "%l = tile.reshape %a : tensor<2xf8E4M3FN> -> tensor<1x2xf8E4M3FN>\n"
                     "%i = arith.constant dense<0.0> : tensor<1x1xf32>\n"
                     "%d = tile.dot %l, %l, %i transpose_b : tensor<1x2xf8E4M3FN>, "
                     "tensor<1x2xf8E4M3FN>, tensor<1x1xf32> -> tensor<1x1xf32>\n"
                     "%b1 = tile.broadcast %d : tensor<1x1xf32> -> tensor<1x2xf32>\n"
                     "%r = tile.reshape %b1 : tensor<1x2xf32> -> tensor<2xf32>";
  EXPECT_EQ(runOnTiles<float>("f8E4M3FN", "f32", body, std::vector<uint8_t>{0x7e, 0x01})[0],
            448.0f * 448 + 0x1p-18f);
}

TEST(Dot, OfBytesIsExactInI32) {
  std::string body = "%l = tile.reshape %a : tensor<2xi8> -> tensor<1x2xi8>\n"
                     "%i = arith.constant dense<7> : tensor<1x1xi32>\n"
                     "%d = tile.dot %l, %l, %i transpose_b : tensor<1x2xi8>, tensor<1x2xi8>, "
                     "tensor<1x1xi32> -> tensor<1x1xi32>\n"
                     "%b1 = tile.broadcast %d : tensor<1x1xi32> -> tensor<1x2xi32>\n"
                     "%r = tile.reshape %b1 : tensor<1x2xi32> -> tensor<2xi32>";
  EXPECT_EQ(runOnTiles<int32_t>("i8", "i32", body, std::vector<int8_t>{-128, 127})[0],
            16384 + 16129 + 7);
}

} // namespace
} // namespace sinter::tile
