// The math dialect in the interpreter: each function against the C library in double, rounded once.
#include "tile/interp_support.h"

#include "numeric/half.h"

#include <cmath>
#include <limits>

namespace sinter::tile {
namespace {

struct MathCase {
  const char *op;
  double (*reference)(double);
};
class MathUnary : public testing::TestWithParam<MathCase> {};

const std::vector<float> kInputs = {0.0f,  -0.0f, 0.25f,  1.0f, -1.0f, 0.7f,  2.5f,
                                    -2.5f, 3.5f,  1e-30f, 9.0f, 87.0f, -0.3f, 1e30f};

TEST_P(MathUnary, OnF32IsTheDoubleResultRoundedOnce) {
  auto found = runOnTiles<float>(
      "f32", "f32", std::string("%r = ") + GetParam().op + " %a : tensor<14xf32>", kInputs);
  for (size_t i = 0; i < kInputs.size(); ++i) {
    float expected = static_cast<float>(GetParam().reference(kInputs[i]));
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(found[i])) << kInputs[i];
    else
      EXPECT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected)) << kInputs[i];
  }
}

TEST_P(MathUnary, OnF16IsTheDoubleResultRoundedOnce) {
  std::vector<uint16_t> inputs;
  for (float value : kInputs)
    inputs.push_back(f32ToF16(value));
  auto found = runOnTiles<uint16_t>(
      "f16", "f16", std::string("%r = ") + GetParam().op + " %a : tensor<14xf16>", inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    double expected = GetParam().reference(f16ToF32(inputs[i]));
    float value = f16ToF32(found[i]);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(value)) << kInputs[i];
    else if (std::isfinite(value))
      EXPECT_LE(std::fabs(value - expected), std::fabs(expected) * 0x1p-11 + 0x1p-25) << kInputs[i];
    else
      EXPECT_GE(std::fabs(expected), 65520) << kInputs[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Functions, MathUnary,
    testing::Values(MathCase{"math.exp", std::exp}, MathCase{"math.exp2", std::exp2},
                    MathCase{"math.expm1", std::expm1}, MathCase{"math.log", std::log},
                    MathCase{"math.log2", std::log2}, MathCase{"math.log10", std::log10},
                    MathCase{"math.log1p", std::log1p}, MathCase{"math.sqrt", std::sqrt},
                    MathCase{"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
                    MathCase{"math.cbrt", std::cbrt}, MathCase{"math.sin", std::sin},
                    MathCase{"math.cos", std::cos}, MathCase{"math.tan", std::tan},
                    MathCase{"math.asin", std::asin}, MathCase{"math.acos", std::acos},
                    MathCase{"math.atan", std::atan}, MathCase{"math.sinh", std::sinh},
                    MathCase{"math.cosh", std::cosh}, MathCase{"math.tanh", std::tanh},
                    MathCase{"math.erf", std::erf}, MathCase{"math.erfc", std::erfc},
                    MathCase{"math.absf", std::fabs}, MathCase{"math.floor", std::floor},
                    MathCase{"math.ceil", std::ceil}, MathCase{"math.trunc", std::trunc},
                    MathCase{"math.round", std::round},
                    MathCase{"math.roundeven", std::nearbyint}));

TEST(Math, RoundingDiffersAtTies) {
  std::vector<float> ties = {0.5f, 1.5f, 2.5f, -2.5f};
  EXPECT_EQ(runOnTiles<float>("f32", "f32", "%r = math.roundeven %a : tensor<4xf32>", ties),
            (std::vector<float>{0, 2, 2, -2}));
  EXPECT_EQ(runOnTiles<float>("f32", "f32", "%r = math.round %a : tensor<4xf32>", ties),
            (std::vector<float>{1, 2, 3, -3}));
}

TEST(Math, FunctionsOfTwoOperands) {
  std::vector<float> a = {2, -1, 0.5f}, b = {10, -3, -2};
  EXPECT_EQ(runOnTiles<float>("f32", "f32", "%r = math.powf %a, %b : tensor<3xf32>", a, b),
            (std::vector<float>{1024, -1, 4}));
  EXPECT_EQ(runOnTiles<float>("f32", "f32", "%r = math.copysign %a, %b : tensor<3xf32>", a, b),
            (std::vector<float>{2, -1, -0.5f}));
  EXPECT_EQ(runOnTiles<float>("f32", "f32", "%r = math.atan2 %a, %b : tensor<3xf32>", a, b)[0],
            static_cast<float>(std::atan2(2.0, 10.0)));
}

TEST(Math, FmaOnF32RoundsOnce) {
  float a = 1 + 0x1p-12f;
  auto found = runOnTiles<float>("f32", "f32",
                                 "%n = arith.negf %b : tensor<1xf32>\n"
                                 "%r = math.fma %a, %a, %n : tensor<1xf32>",
                                 std::vector<float>{a}, std::vector<float>{a * a});
  EXPECT_EQ(found[0], std::fma(a, a, -(a * a)));
  EXPECT_NE(found[0], 0.0f);
}

TEST(Math, FmaOnBf16SeesWhatDoubleCannotHold) {
  // 1.5 * 131/128 and 1.5 * 129/128 are ties of bf16; 2^-100 decides them, far below double's last
  // bit.
  auto found = runOnTiles<uint16_t>("bf16", "bf16",
                                    "%half = arith.constant dense<1.5> : tensor<4xbf16>\n"
                                    "%r = math.fma %half, %a, %b : tensor<4xbf16>",
                                    std::vector<uint16_t>{0x3f83, 0x3f83, 0x3f81, 0x3f81},
                                    std::vector<uint16_t>{0x0000, 0x0d80, 0x0000, 0x8d80});
  EXPECT_EQ(found, (std::vector<uint16_t>{0x3fc4, 0x3fc5, 0x3fc2, 0x3fc1}));
}

TEST(Math, ClassifiesFloats) {
  std::vector<float> values = {1, std::numeric_limits<float>::infinity(), NAN};
  auto classify = [&](const std::string &op) {
    return runOnTiles<uint8_t>("f32", "i1", "%r = " + op + " %a : tensor<3xf32>", values);
  };
  EXPECT_EQ(classify("math.isnan"), (std::vector<uint8_t>{0, 0, 1}));
  EXPECT_EQ(classify("math.isinf"), (std::vector<uint8_t>{0, 1, 0}));
  EXPECT_EQ(classify("math.isfinite"), (std::vector<uint8_t>{1, 0, 0}));
}

TEST(Math, OnIntegerBits) {
  std::vector<int16_t> values = {0, -1, 0x0100, -32768};
  auto run = [&](const std::string &op) {
    return runOnTiles<int16_t>("i16", "i16", "%r = " + op + " %a : tensor<4xi16>", values);
  };
  EXPECT_EQ(run("math.absi"), (std::vector<int16_t>{0, 1, 0x0100, -32768}));
  EXPECT_EQ(run("math.ctpop"), (std::vector<int16_t>{0, 16, 1, 1}));
  EXPECT_EQ(run("math.ctlz"), (std::vector<int16_t>{16, 0, 7, 0}));
  EXPECT_EQ(run("math.cttz"), (std::vector<int16_t>{16, 0, 8, 15}));
}

} // namespace
} // namespace sinter::tile
