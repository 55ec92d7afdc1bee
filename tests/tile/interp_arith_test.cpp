// The arith dialect in the interpreter, operation by operation, at the edges of each type.
#include "tile/interp_support.h"

#include <bit>
#include <cmath>
#include <limits>

namespace sinter::tile {
namespace {

using Bytes = std::vector<int8_t>;
using Words = std::vector<uint32_t>;

// out[i] = op(a[i], b[i]) on tiles of one type.
template <typename T>
std::vector<T> binary(const std::string &op, const std::string &type, std::vector<T> a,
                      std::vector<T> b) {
  std::string tile = "tensor<" + std::to_string(a.size()) + "x" + type + ">";
  return runOnTiles<T>(type, type, "%r = " + op + " %a, %b : " + tile, a, b);
}
template <typename T>
std::vector<T> unary(const std::string &op, const std::string &type, std::vector<T> a) {
  std::string tile = "tensor<" + std::to_string(a.size()) + "x" + type + ">";
  return runOnTiles<T>(type, type, "%r = " + op + " %a : " + tile, a);
}
Bytes i8(const std::string &op, Bytes a, Bytes b) {
  return binary<int8_t>(op, "i8", a, b);
}

template <typename To, typename From>
std::vector<To> cast(const std::string &op, const std::string &from, const std::string &to,
                     std::vector<From> a) {
  std::string n = "tensor<" + std::to_string(a.size()) + "x";
  return runOnTiles<To>(from, to, "%r = " + op + " %a : " + n + from + "> to " + n + to + ">", a);
}

struct IntegerCase {
  const char *op;
  Bytes a, b, expected;
};
class IntegerOps : public testing::TestWithParam<IntegerCase> {};

TEST_P(IntegerOps, OnBytes) {
  const IntegerCase &c = GetParam();
  EXPECT_EQ(i8(c.op, c.a, c.b), c.expected) << c.op;
}

INSTANTIATE_TEST_SUITE_P(
    Arith, IntegerOps,
    testing::Values(
        IntegerCase{"arith.addi", {127, -128, 5}, {1, -1, 6}, {-128, 127, 11}},
        IntegerCase{"arith.subi", {-128, 0, 9}, {1, -128, 4}, {127, -128, 5}},
        IntegerCase{"arith.muli", {64, -128, 7}, {2, -1, -3}, {-128, -128, -21}},
        IntegerCase{"arith.andi", {0x0f, -1}, {0x3c, 5}, {0x0c, 5}},
        IntegerCase{"arith.ori", {0x0f, 0}, {0x30, 5}, {0x3f, 5}},
        IntegerCase{"arith.xori", {-1, 6}, {1, 6}, {-2, 0}},
        IntegerCase{"arith.shli", {1, 1, -1, 3}, {7, 8, 1, 0}, {-128, 0, -2, 3}},
        IntegerCase{"arith.shrui", {-128, -1, 4}, {7, 8, 0}, {1, 0, 4}},
        IntegerCase{"arith.shrsi", {-128, -1, 64, 64}, {7, 8, 9, 1}, {-1, -1, 0, 32}},
        IntegerCase{"arith.maxsi", {-1, 3}, {1, 2}, {1, 3}},
        IntegerCase{"arith.minsi", {-1, 3}, {1, 2}, {-1, 2}},
        IntegerCase{"arith.maxui", {-1, 3}, {1, 2}, {-1, 3}},
        IntegerCase{"arith.minui", {-1, 3}, {1, 2}, {1, 2}},
        IntegerCase{"arith.divsi", {7, -7, 7, -7, -128}, {2, 2, -2, -2, -1}, {3, -3, -3, 3, -128}},
        IntegerCase{"arith.remsi", {7, -7, 7, -7, -128}, {2, 2, -2, -2, -1}, {1, -1, 1, -1, 0}},
        IntegerCase{"arith.divui", {-1, 7}, {2, 2}, {127, 3}},
        IntegerCase{"arith.remui", {-1, 7}, {2, 4}, {1, 3}},
        IntegerCase{"arith.ceildivsi", {7, -7, 7, 6, 0}, {2, 2, -2, 2, 3}, {4, -3, -3, 3, 0}},
        IntegerCase{"arith.floordivsi", {7, -7, 7, 6, 0}, {2, 2, -2, 2, 3}, {3, -4, -4, 3, 0}},
        IntegerCase{"arith.ceildivui", {7, 6, -1}, {2, 2, 2}, {4, 3, -128}}));

TEST(IntegerOps, WrapAtOddWidths) {
  EXPECT_EQ(binary<uint8_t>("arith.addi", "i5", {31, 16}, {1, 15}), (std::vector<uint8_t>{0, 31}));
  EXPECT_EQ(binary<uint8_t>("arith.shrsi", "i5", {16}, {2}), (std::vector<uint8_t>{28}));
}

TEST(IntegerOps, WrapAt64Bits) {
  int64_t top = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(binary<int64_t>("arith.addi", "i64", {top}, {1}), (std::vector<int64_t>{-top - 1}));
  EXPECT_EQ(binary<int64_t>("arith.divsi", "i64", {-top - 1}, {-1}),
            (std::vector<int64_t>{-top - 1}));
}

TEST(IntegerOps, ExtendedMultiplicationGivesBothHalves) {
  std::string type = "tensor<2xi8>";
  EXPECT_EQ(runOnTiles<int8_t>("i8", "i8", "%l, %r = arith.mulsi_extended %a, %b : " + type,
                               Bytes{-128, 100}, Bytes{127, 100}),
            (Bytes{-64, 39}));
  EXPECT_EQ(runOnTiles<int8_t>("i8", "i8", "%r, %h = arith.mulsi_extended %a, %b : " + type,
                               Bytes{-128, 100}, Bytes{127, 100}),
            (Bytes{-128, 16}));
  EXPECT_EQ(runOnTiles<int8_t>("i8", "i8", "%l, %r = arith.mului_extended %a, %b : " + type,
                               Bytes{-1, 2}, Bytes{-1, 3}),
            (Bytes{-2, 0}));
}

TEST(IntegerOps, ExtendedAdditionGivesTheCarry) {
  EXPECT_EQ(runOnTiles<uint8_t>("i8", "i1",
                                "%s, %r = arith.addui_extended %a, %b : tensor<2xi8>, tensor<2xi1>",
                                Bytes{-1, 1}, Bytes{1, 1}),
            (std::vector<uint8_t>{1, 0}));
}

// ---- floats ----

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInf = std::numeric_limits<float>::infinity();

struct FloatCase {
  const char *op;
  std::vector<float> a, b, expected;
};
class FloatOps : public testing::TestWithParam<FloatCase> {};

void expectSameFloats(const std::vector<float> &found, const std::vector<float> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(found[i])) << i;
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i]))
          << i << ": " << found[i] << " for " << expected[i];
  }
}

TEST_P(FloatOps, OnF32) {
  const FloatCase &c = GetParam();
  expectSameFloats(binary<float>(c.op, "f32", c.a, c.b), c.expected);
}

INSTANTIATE_TEST_SUITE_P(
    Arith, FloatOps,
    testing::Values(
        FloatCase{"arith.addf", {1, kInf, 1e38f * 3}, {1e-8f, -kInf, 1e38f * 3}, {1, kNan, kInf}},
        FloatCase{"arith.subf", {1, 0, 5}, {1, 0.0f, 7}, {0, 0, -2}},
        FloatCase{"arith.mulf", {1e-30f, -0.0f, 3}, {1e-15f, 1, 7}, {1e-45f, -0.0f, 21}},
        FloatCase{"arith.divf", {1, 1, 0}, {3, 0, 0}, {1.0f / 3, kInf, kNan}},
        FloatCase{"arith.remf", {5.5f, -5.5f, 1}, {2, 2, 0}, {1.5f, -1.5f, kNan}},
        FloatCase{"arith.maximumf",
                  {kNan, 1, -0.0f, 0.0f, 2},
                  {1, kNan, 0.0f, -0.0f, 3},
                  {kNan, kNan, 0.0f, 0.0f, 3}},
        FloatCase{"arith.minimumf",
                  {kNan, 1, -0.0f, 0.0f, 2},
                  {1, kNan, 0.0f, -0.0f, 3},
                  {kNan, kNan, -0.0f, -0.0f, 2}},
        FloatCase{"arith.maxnumf", {kNan, 1, kNan, 2}, {1, kNan, kNan, 3}, {1, 1, kNan, 3}},
        FloatCase{"arith.minnumf", {kNan, 1, kNan, 2}, {1, kNan, kNan, 3}, {1, 1, kNan, 2}}));

TEST(FloatOps, NegationFlipsTheSignOfZeroAndKeepsNan) {
  expectSameFloats(unary<float>("arith.negf", "f32", {0.0f, -2, kNan}), {-0.0f, 2, kNan});
}

TEST(FloatOps, OnF16RoundOncePerOperation) {
  // 2048 + 1 is a tie between 2048 and 2050, 2050 + 1 one between 2050 and 2052.
  EXPECT_EQ(binary<uint16_t>("arith.addf", "f16", {0x6800, 0x6801}, {0x3c00, 0x3c00}),
            (std::vector<uint16_t>{0x6800, 0x6802}));
  // 65504 * 2 overflows; the smallest subnormal halved is a tie that goes to zero.
  EXPECT_EQ(binary<uint16_t>("arith.mulf", "f16", {0x7bff, 0x0001}, {0x4000, 0x3800}),
            (std::vector<uint16_t>{0x7c00, 0x0000}));
}

TEST(FloatOps, OnBf16RoundOncePerOperation) {
  // 256 + 1 is a tie between 256 and 258.
  EXPECT_EQ(binary<uint16_t>("arith.addf", "bf16", {0x4380, 0x4381}, {0x3f80, 0x3f80}),
            (std::vector<uint16_t>{0x4380, 0x4382}));
}

TEST(FloatOps, OnF64KeepItsPrecision) {
  EXPECT_EQ(binary<double>("arith.addf", "f64", {1}, {0x1p-52}),
            (std::vector<double>{1 + 0x1p-52}));
}

// ---- comparisons ----

struct CompareCase {
  const char *predicate;
  std::vector<uint8_t> expected; // of -1 1, 1 -1, 2 2
};
class CompareInts : public testing::TestWithParam<CompareCase> {};
TEST_P(CompareInts, OnBytes) {
  EXPECT_EQ(runOnTiles<uint8_t>("i8", "i1",
                                std::string("%r = arith.cmpi ") + GetParam().predicate +
                                    ", %a, %b : tensor<3xi8>",
                                Bytes{-1, 1, 2}, Bytes{1, -1, 2}),
            GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Arith, CompareInts,
    testing::Values(CompareCase{"eq", {0, 0, 1}}, CompareCase{"ne", {1, 1, 0}},
                    CompareCase{"slt", {1, 0, 0}}, CompareCase{"sle", {1, 0, 1}},
                    CompareCase{"sgt", {0, 1, 0}}, CompareCase{"sge", {0, 1, 1}},
                    CompareCase{"ult", {0, 1, 0}}, CompareCase{"ule", {0, 1, 1}},
                    CompareCase{"ugt", {1, 0, 0}}, CompareCase{"uge", {1, 0, 1}}));

class CompareFloats : public testing::TestWithParam<CompareCase> {};
TEST_P(CompareFloats, OnLessEqualGreaterAndNan) {
  EXPECT_EQ(runOnTiles<uint8_t>(
                "f32", "i1",
                std::string("%r = arith.cmpf ") + GetParam().predicate + ", %a, %b : tensor<4xf32>",
                std::vector<float>{1, 0.0f, 3, kNan}, std::vector<float>{2, -0.0f, 2, 1}),
            GetParam().expected);
}
INSTANTIATE_TEST_SUITE_P(
    Arith, CompareFloats,
    testing::Values(CompareCase{"false", {0, 0, 0, 0}}, CompareCase{"true", {1, 1, 1, 1}},
                    CompareCase{"ord", {1, 1, 1, 0}}, CompareCase{"uno", {0, 0, 0, 1}},
                    CompareCase{"oeq", {0, 1, 0, 0}}, CompareCase{"ueq", {0, 1, 0, 1}},
                    CompareCase{"one", {1, 0, 1, 0}}, CompareCase{"une", {1, 0, 1, 1}},
                    CompareCase{"olt", {1, 0, 0, 0}}, CompareCase{"ult", {1, 0, 0, 1}},
                    CompareCase{"ole", {1, 1, 0, 0}}, CompareCase{"ule", {1, 1, 0, 1}},
                    CompareCase{"ogt", {0, 0, 1, 0}}, CompareCase{"ugt", {0, 0, 1, 1}},
                    CompareCase{"oge", {0, 1, 1, 0}}, CompareCase{"uge", {0, 1, 1, 1}}));

TEST(Select, ChoosesByElementOrByScalar) {
  EXPECT_EQ(runOnTiles<float>("f32", "f32",
                              "%c = arith.cmpf olt, %a, %b : tensor<3xf32>\n"
                              "%r = arith.select %c, %a, %b : tensor<3xi1>, tensor<3xf32>",
                              std::vector<float>{1, 5, 3}, std::vector<float>{2, 4, 9}),
            (std::vector<float>{1, 4, 3}));
  EXPECT_EQ(runOnTiles<float>("f32", "f32",
                              "%c = arith.constant false\n%r = arith.select %c, %a, %b : "
                              "tensor<2xf32>",
                              std::vector<float>{1, 5}, std::vector<float>{2, 4}),
            (std::vector<float>{2, 4}));
}

// ---- constants and conversions ----

TEST(Constants, AreTakenElementByElementOrSplat) {
  EXPECT_EQ(runOnTiles<int32_t>("f32", "i32",
                                "%r = arith.constant dense<[1, -2, 3]> : tensor<3xi32>",
                                std::vector<float>(3)),
            (std::vector<int32_t>{1, -2, 3}));
  EXPECT_EQ(runOnTiles<uint16_t>("f32", "f16", "%r = arith.constant dense<1.5> : tensor<2xf16>",
                                 std::vector<float>(2)),
            (std::vector<uint16_t>{0x3e00, 0x3e00}));
  EXPECT_EQ(runOnTiles<uint8_t>("f32", "i1",
                                "%r = arith.constant dense<[true, false, true]> : tensor<3xi1>",
                                std::vector<float>(3)),
            (std::vector<uint8_t>{1, 0, 1}));
}

TEST(Casts, OfIntegersExtendAndCut) {
  EXPECT_EQ((cast<int32_t>("arith.extsi", "i8", "i32", Bytes{-1, 5})),
            (std::vector<int32_t>{-1, 5}));
  EXPECT_EQ((cast<int32_t>("arith.extui", "i8", "i32", Bytes{-1, 5})),
            (std::vector<int32_t>{255, 5}));
  EXPECT_EQ((cast<int8_t>("arith.trunci", "i32", "i8", std::vector<int32_t>{0x1ff, -129})),
            (Bytes{-1, 127}));
  EXPECT_EQ((cast<int64_t>("arith.index_cast", "i32", "index", std::vector<int32_t>{-3})),
            (std::vector<int64_t>{-3}));
  EXPECT_EQ((cast<int64_t>("arith.index_castui", "i32", "index", std::vector<int32_t>{-3})),
            (std::vector<int64_t>{0xfffffffd}));
}

TEST(Casts, OfFloatsRoundToNearestEven) {
  // 1 + 2^-11 is a tie in f16; 1 + 2^-11 + 2^-40 is above it, but only f64 sees that.
  EXPECT_EQ((cast<uint16_t>("arith.truncf", "f64", "f16",
                            std::vector<double>{1 + 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 1e6})),
            (std::vector<uint16_t>{0x3c00, 0x3c01, 0x7c00}));
  EXPECT_EQ(
      (cast<uint16_t>("arith.truncf", "f64", "bf16", std::vector<double>{1 + 0x1p-8 + 0x1p-40})),
      (std::vector<uint16_t>{0x3f81}));
  EXPECT_EQ((cast<float>("arith.extf", "f16", "f32", std::vector<uint16_t>{0x3c00, 0x0001})),
            (std::vector<float>{1, 0x1p-24f}));
  EXPECT_EQ((cast<uint8_t>("arith.truncf", "f32", "f8E4M3FN", std::vector<float>{1, 1e9f})),
            (std::vector<uint8_t>{0x38, 0x7e}));
}

TEST(Casts, OfIntegersToFloatsRoundOnce) {
  // 2^62 + 2^54 is a tie in bf16 and the 1 decides, which a detour over double would lose.
  EXPECT_EQ((cast<uint16_t>("arith.sitofp", "i64", "bf16",
                            std::vector<int64_t>{(int64_t(1) << 62) + (int64_t(1) << 54) + 1})),
            (std::vector<uint16_t>{0x5e81}));
  EXPECT_EQ((cast<float>("arith.sitofp", "i8", "f32", Bytes{-128})), (std::vector<float>{-128}));
  EXPECT_EQ((cast<float>("arith.uitofp", "i8", "f32", Bytes{-128})), (std::vector<float>{128}));
  EXPECT_EQ((cast<double>("arith.uitofp", "i64", "f64", std::vector<int64_t>{-1})),
            (std::vector<double>{0x1p64}));
}

TEST(Casts, OfFloatsToIntegersCutAndSaturate) {
  EXPECT_EQ((cast<int8_t>("arith.fptosi", "f32", "i8",
                          std::vector<float>{-1.9f, 1.9f, 200, -1e9f, kNan})),
            (Bytes{-1, 1, 127, -128, 0}));
  EXPECT_EQ((cast<uint8_t>("arith.fptoui", "f32", "i8", std::vector<float>{1.9f, 300, -5})),
            (std::vector<uint8_t>{1, 255, 0}));
  EXPECT_EQ((cast<int64_t>("arith.fptosi", "f64", "i64", std::vector<double>{1e300, -1e300})),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
}

TEST(Casts, ByBitsKeepThem) {
  EXPECT_EQ((cast<uint32_t>("arith.bitcast", "f32", "i32", std::vector<float>{1.0f, -0.0f})),
            (Words{0x3f800000, 0x80000000}));
}

} // namespace
} // namespace sinter::tile
