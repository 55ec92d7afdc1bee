// Building, checking, evaluating and printing of size expressions.
#include "plan/expr.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace sinter::plan {
namespace {

// The result of one operator, or nothing on overflow or a divisor that is not positive.
std::optional<int64_t> apply(ExprOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  switch (op) {
  case ExprOp::Add:
    return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
  case ExprOp::Mul:
    return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
  case ExprOp::CeilDiv:
    // Truncation already rounds a negative quotient up.
    return b <= 0 ? std::nullopt : std::optional(a / b + (a > 0 && a % b != 0));
  case ExprOp::Min:
    return std::min(a, b);
  case ExprOp::Max:
    return std::max(a, b);
  case ExprOp::Constant:
  case ExprOp::Symbol:
    break;
  }
  return std::nullopt;
}

Expr combine(ExprOp op, const Expr &a, const Expr &b) {
  if (a.constant() && b.constant())
    if (auto value = apply(op, *a.constant(), *b.constant()))
      return Expr(*value);
  std::vector<ExprNode> nodes;
  nodes.reserve(a.nodes().size() + b.nodes().size() + 1);
  nodes.insert(nodes.end(), a.nodes().begin(), a.nodes().end());
  nodes.insert(nodes.end(), b.nodes().begin(), b.nodes().end());
  nodes.push_back({op, 0});
  return Expr(std::move(nodes));
}

bool isLeaf(ExprOp op) {
  return op == ExprOp::Constant || op == ExprOp::Symbol;
}

Fail cannotApply(ExprOp op, int64_t a, int64_t b) {
  static constexpr const char *kNames[] = {"", "", "+", "*", "ceildiv", "min", "max"};
  const char *why = op == ExprOp::CeilDiv ? "the divisor must be positive" : "it overflows 64 bits";
  return fail(Code::InvalidArgument, "cannot compute " + std::to_string(a) + " " +
                                         kNames[static_cast<int>(op)] + " " + std::to_string(b) +
                                         ": " + why);
}

} // namespace

std::optional<int64_t> Expr::constant() const {
  if (nodes_.size() == 1 && nodes_[0].op == ExprOp::Constant)
    return nodes_[0].value;
  return std::nullopt;
}

Result<void> Expr::check(uint32_t symbolCount) const {
  if (nodes_.empty() || nodes_.size() > kMaxExprNodes)
    return fail(Code::Corrupt, "expression has " + std::to_string(nodes_.size()) +
                                   " nodes, expected 1 to " + std::to_string(kMaxExprNodes));
  uint32_t depth = 0;
  for (const ExprNode &node : nodes_) {
    if (static_cast<uint8_t>(node.op) >= kExprOpCount)
      return fail(Code::Corrupt, "expression has operator " +
                                     std::to_string(static_cast<uint8_t>(node.op)) +
                                     ", expected less than " + std::to_string(kExprOpCount));
    if (node.op == ExprOp::Symbol &&
        (node.value < 0 || node.value >= static_cast<int64_t>(symbolCount)))
      return fail(Code::Corrupt, "expression uses symbol " + std::to_string(node.value) +
                                     ", the plan has " + std::to_string(symbolCount));
    if (!isLeaf(node.op) && depth < 2)
      return fail(Code::Corrupt, "expression has an operator with " + std::to_string(depth) +
                                     " operands, expected 2");
    depth = isLeaf(node.op) ? depth + 1 : depth - 1;
    if (depth > kMaxExprDepth)
      return fail(Code::Corrupt,
                  "expression is deeper than " + std::to_string(kMaxExprDepth) + " values");
  }
  if (depth != 1)
    return fail(Code::Corrupt,
                "expression leaves " + std::to_string(depth) + " values, expected 1");
  return {};
}

Expr constant(int64_t value) {
  return Expr(value);
}

Expr symbol(SymbolId id) {
  return Expr(std::vector<ExprNode>{{ExprOp::Symbol, static_cast<int64_t>(id.index)}});
}

Expr add(const Expr &a, const Expr &b) {
  if (a.constant() == 0)
    return b;
  return b.constant() == 0 ? a : combine(ExprOp::Add, a, b);
}

Expr mul(const Expr &a, const Expr &b) {
  if (a.constant() == 1)
    return b;
  return b.constant() == 1 ? a : combine(ExprOp::Mul, a, b);
}

Expr ceilDiv(const Expr &a, const Expr &b) {
  return b.constant() == 1 ? a : combine(ExprOp::CeilDiv, a, b);
}

Expr minOf(const Expr &a, const Expr &b) {
  return a == b ? a : combine(ExprOp::Min, a, b);
}
Expr maxOf(const Expr &a, const Expr &b) {
  return a == b ? a : combine(ExprOp::Max, a, b);
}

Expr alignUp(const Expr &a, int64_t alignment) {
  return mul(ceilDiv(a, Expr(alignment)), Expr(alignment));
}

Result<int64_t> evaluate(const Expr &expr, std::span<const int64_t> symbolValues) {
  // Most sizes of a plan are constants, and a step that binds new sizes evaluates thousands.
  if (auto value = expr.constant())
    return *value;
  std::array<int64_t, kMaxExprDepth> stack;
  uint32_t depth = 0;
  for (const ExprNode &node : expr.nodes()) {
    if (!isLeaf(node.op)) {
      if (depth < 2 || static_cast<uint8_t>(node.op) >= kExprOpCount)
        return fail(Code::Corrupt, "expression has an unknown operator or one without operands");
      auto value = apply(node.op, stack[depth - 2], stack[depth - 1]);
      if (!value)
        return cannotApply(node.op, stack[depth - 2], stack[depth - 1]);
      stack[--depth - 1] = *value;
      continue;
    }
    if (depth == kMaxExprDepth)
      return fail(Code::Corrupt,
                  "expression is deeper than " + std::to_string(kMaxExprDepth) + " values");
    if (node.op == ExprOp::Symbol && static_cast<uint64_t>(node.value) >= symbolValues.size())
      return fail(Code::InvalidArgument, "expression uses symbol " + std::to_string(node.value) +
                                             ", only " + std::to_string(symbolValues.size()) +
                                             " have values");
    stack[depth++] = node.op == ExprOp::Constant
                         ? node.value
                         : symbolValues[static_cast<std::size_t>(node.value)];
  }
  if (depth != 1)
    return fail(Code::Corrupt,
                "expression leaves " + std::to_string(depth) + " values, expected 1");
  return stack[0];
}

// Divisors of factors multiply; what stands in a sum or a choice shares the common one.
static int64_t divisorOf(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
  case ExprOp::Mul: {
    int64_t product = 1;
    return __builtin_mul_overflow(a, b, &product) ? std::max(a, b) : product;
  }
  case ExprOp::Add:
  case ExprOp::Min:
  case ExprOp::Max:
    return std::gcd(a, b);
  default:
    return 1;
  }
}

int64_t divisorOf(const Expr &expr) {
  std::vector<int64_t> stack;
  for (const ExprNode &node : expr.nodes()) {
    if (isLeaf(node.op)) {
      const bool isLeast = node.value == std::numeric_limits<int64_t>::min();
      stack.push_back(node.op == ExprOp::Symbol || isLeast ? 1 : std::abs(node.value));
      continue;
    }
    if (stack.size() < 2)
      return 1;
    const int64_t right = stack.back();
    stack.pop_back();
    stack.back() = divisorOf(node.op, stack.back(), right);
  }
  return stack.size() == 1 ? stack.front() : 1;
}

std::string toString(const Expr &expr, std::span<const std::string> symbolNames) {
  if (!expr.check(static_cast<uint32_t>(symbolNames.size())))
    return "malformed";
  struct Part {
    std::string text;
    int rank; // 0 sum, 1 product, 2 anything closed
  };
  std::vector<Part> stack;
  auto wrapped = [](const Part &part, int rank) {
    return part.rank < rank ? "(" + part.text + ")" : part.text;
  };
  for (const ExprNode &node : expr.nodes()) {
    if (isLeaf(node.op)) {
      stack.push_back({node.op == ExprOp::Constant ? std::to_string(node.value)
                                                   : symbolNames[static_cast<size_t>(node.value)],
                       2});
      continue;
    }
    Part b = std::move(stack.back());
    stack.pop_back();
    Part a = std::move(stack.back());
    stack.pop_back();
    if (node.op == ExprOp::Add)
      stack.push_back({a.text + " + " + b.text, 0});
    else if (node.op == ExprOp::Mul)
      stack.push_back({wrapped(a, 1) + " * " + wrapped(b, 1), 1});
    else
      stack.push_back({std::string(node.op == ExprOp::CeilDiv ? "ceildiv"
                                   : node.op == ExprOp::Min   ? "min"
                                                              : "max") +
                           "(" + a.text + ", " + b.text + ")",
                       2});
  }
  return stack[0].text;
}

} // namespace sinter::plan
