// Size expressions: values, checked arithmetic, limits, folding and the printed form.
#include "plan/expr.h"

#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

const Expr kN = symbol(SymbolId{0});

int64_t valueOf(const Expr &expr, std::vector<int64_t> symbols = {}) {
  auto value = evaluate(expr, symbols);
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().message);
  return value.value_or(INT64_MIN);
}

Code codeOf(const Expr &expr, std::vector<int64_t> symbols = {}) {
  auto value = evaluate(expr, symbols);
  EXPECT_FALSE(value.has_value());
  return value ? Code::Internal : value.error().code;
}

TEST(Expr, EachOperatorGivesItsValue) {
  EXPECT_EQ(valueOf(add(kN, Expr(5)), {7}), 12);
  EXPECT_EQ(valueOf(mul(kN, Expr(-5)), {7}), -35);
  EXPECT_EQ(valueOf(minOf(kN, Expr(5)), {7}), 5);
  EXPECT_EQ(valueOf(maxOf(kN, Expr(5)), {7}), 7);
  EXPECT_EQ(valueOf(alignUp(kN, 64), {65}), 128);
}

TEST(Expr, CeilDivRoundsUpForEverySign) {
  const Expr half = ceilDiv(kN, Expr(4));
  EXPECT_EQ(valueOf(half, {8}), 2);
  EXPECT_EQ(valueOf(half, {9}), 3);
  EXPECT_EQ(valueOf(half, {0}), 0);
  EXPECT_EQ(valueOf(half, {-9}), -2);
  EXPECT_EQ(valueOf(half, {INT64_MAX}), INT64_MAX / 4 + 1);
  EXPECT_EQ(valueOf(half, {INT64_MIN}), INT64_MIN / 4);
}

TEST(Expr, ADivisorThatIsNotPositiveIsAnError) {
  EXPECT_EQ(codeOf(ceilDiv(Expr(4), kN), {0}), Code::InvalidArgument);
  EXPECT_EQ(codeOf(ceilDiv(Expr(4), kN), {-1}), Code::InvalidArgument);
  EXPECT_EQ(codeOf(ceilDiv(Expr(4), Expr(0))), Code::InvalidArgument);
}

TEST(Expr, OverflowIsAnErrorThatNamesTheOperands) {
  auto value = evaluate(mul(kN, Expr(2)), std::vector<int64_t>{INT64_MAX});
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().message, "cannot compute 9223372036854775807 * 2: it overflows 64 bits");
  EXPECT_EQ(codeOf(add(Expr(INT64_MAX), Expr(1))), Code::InvalidArgument);
  EXPECT_EQ(codeOf(add(Expr(INT64_MIN), Expr(-1))), Code::InvalidArgument);
}

TEST(Expr, ASymbolWithoutAValueIsAnError) {
  EXPECT_EQ(codeOf(symbol(SymbolId{1}), {7}), Code::InvalidArgument);
}

TEST(Expr, ConstantsAreFolded) {
  EXPECT_EQ(add(Expr(2), mul(Expr(3), Expr(4))).constant(), 14);
  EXPECT_EQ(add(kN, Expr(0)), kN);
  EXPECT_EQ(mul(Expr(1), kN), kN);
  EXPECT_EQ(ceilDiv(kN, Expr(1)), kN);
}

TEST(Expr, MalformedFormulasAreRefusedAndNotEvaluated) {
  const std::vector<std::vector<ExprNode>> malformed = {
      {},
      {{ExprOp::Add, 0}},
      {{ExprOp::Constant, 1}, {ExprOp::Add, 0}},
      {{ExprOp::Constant, 1}, {ExprOp::Constant, 2}},
      {{ExprOp::Constant, 1}, {ExprOp::Constant, 1}, {static_cast<ExprOp>(7), 0}},
      std::vector<ExprNode>(kMaxExprDepth + 1),
      std::vector<ExprNode>(kMaxExprNodes + 1)};
  for (const auto &nodes : malformed) {
    EXPECT_FALSE(Expr(nodes).check(8).has_value()) << nodes.size();
    EXPECT_FALSE(evaluate(Expr(nodes), {}).has_value()) << nodes.size();
    EXPECT_EQ(toString(Expr(nodes), {}), "malformed");
  }
}

TEST(Expr, AWildSymbolIsRefused) {
  EXPECT_TRUE(symbol(SymbolId{1}).check(2).has_value());
  EXPECT_FALSE(symbol(SymbolId{2}).check(2).has_value());
  EXPECT_FALSE(Expr({{ExprOp::Symbol, -1}}).check(2).has_value());
}

TEST(Expr, AsDeepAsTheLimitIsEvaluated) {
  Expr deep = kN;
  for (uint32_t i = 1; i < kMaxExprDepth; ++i)
    deep = add(kN, deep);
  ASSERT_TRUE(deep.check(1).has_value());
  EXPECT_EQ(valueOf(deep, {3}), 3 * int64_t(kMaxExprDepth));
  EXPECT_FALSE(add(kN, deep).check(1).has_value());
}

TEST(Expr, ADivisorOfAFormulaDividesItsValues) {
  const Expr n = symbol({0}), m = symbol({1});
  EXPECT_EQ(divisorOf(Expr(0)), 0);
  EXPECT_EQ(divisorOf(Expr(-24)), 24);
  EXPECT_EQ(divisorOf(n), 1);
  EXPECT_EQ(divisorOf(mul(mul(n, Expr(12)), m)), 12);
  EXPECT_EQ(divisorOf(add(mul(n, Expr(64)), Expr(80))), 16);
  EXPECT_EQ(divisorOf(minOf(mul(n, Expr(8)), mul(m, Expr(12)))), 4);
  EXPECT_EQ(divisorOf(ceilDiv(mul(n, Expr(8)), Expr(4))), 1);
  EXPECT_EQ(divisorOf(alignUp(n, 32)), 32);
  EXPECT_EQ(divisorOf(Expr(std::vector<ExprNode>{{ExprOp::Add, 0}})), 1);
}

TEST(Expr, PrintsInInfixFormWithNames) {
  const std::vector<std::string> names = {"n"};
  EXPECT_EQ(toString(ceilDiv(mul(add(kN, Expr(1)), Expr(4)), Expr(16)), names),
            "ceildiv((n + 1) * 4, 16)");
}

} // namespace
} // namespace sinter::plan
