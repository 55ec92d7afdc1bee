// Size expressions of a plan: closed integer formulas over the plan's symbols, with checked 64-bit
// arithmetic.
#pragma once

#include "base/status.h"
#include "plan/ids.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::plan {

inline constexpr uint32_t kMaxExprNodes = 256; // nodes of one expression
inline constexpr uint32_t kMaxExprDepth = 32;  // values on the stack while it is evaluated

enum class ExprOp : uint8_t { Constant, Symbol, Add, Mul, CeilDiv, Min, Max };
inline constexpr uint8_t kExprOpCount = 7;

// One element of the postfix form. `value` is the constant, or the symbol's index; else 0.
struct ExprNode {
  ExprOp op = ExprOp::Constant;
  int64_t value = 0;

  friend bool operator==(const ExprNode &, const ExprNode &) = default;
};

// A formula in postfix form. An Expr made by the functions below is well formed and folded where
// both operands are constants; one from nodes() of a file must pass check() first. A default Expr
// is 0.
class Expr {
public:
  Expr() : nodes_{ExprNode{}} {}
  Expr(int64_t constant) : nodes_{ExprNode{ExprOp::Constant, constant}} {}
  explicit Expr(std::vector<ExprNode> nodes) : nodes_(std::move(nodes)) {}

  std::span<const ExprNode> nodes() const { return nodes_; }

  // The value, when the formula is a single constant.
  std::optional<int64_t> constant() const;

  // Whether every node is known, the postfix form leaves exactly one value, the limits above hold
  // and every symbol is below `symbolCount`. Code::Corrupt otherwise.
  Result<void> check(uint32_t symbolCount) const;

  friend bool operator==(const Expr &, const Expr &) = default;

private:
  std::vector<ExprNode> nodes_;
};

Expr constant(int64_t value);
Expr symbol(SymbolId id);
Expr add(const Expr &a, const Expr &b);
Expr mul(const Expr &a, const Expr &b);
// a divided by b, rounded up; b must be positive when evaluated.
Expr ceilDiv(const Expr &a, const Expr &b);
Expr minOf(const Expr &a, const Expr &b);
Expr maxOf(const Expr &a, const Expr &b);
// The least multiple of `alignment` (> 0) that is no less than a.
Expr alignUp(const Expr &a, int64_t alignment);

// A number that divides the formula's value whatever the symbols are: the greatest that its
// constants show; 0 for the constant 0. 1 where it is malformed.
int64_t divisorOf(const Expr &expr);

// The formula's value where symbol i is symbolValues[i]. Fails with InvalidArgument on overflow, on
// a divisor that is not positive and on a symbol without a value, with Corrupt on a malformed
// formula. Allocates only for the error.
Result<int64_t> evaluate(const Expr &expr, std::span<const int64_t> symbolValues);

// Infix form for messages and explain, symbol i printed as symbolNames[i]: "ceildiv(n + 15, 16)".
// A malformed formula prints as "malformed".
std::string toString(const Expr &expr, std::span<const std::string> symbolNames);

} // namespace sinter::plan
