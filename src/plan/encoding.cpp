// Expressions of the plan file.
#include "plan/encoding.h"

namespace sinter::plan {

void Writer::expr(const Expr &expr) {
  u16(static_cast<uint16_t>(expr.nodes().size()));
  for (const ExprNode &node : expr.nodes()) {
    u8(static_cast<uint8_t>(node.op));
    if (node.op == ExprOp::Constant)
      i64(node.value);
    else if (node.op == ExprOp::Symbol)
      u32(static_cast<uint32_t>(node.value));
  }
}

Expr Reader::expr() {
  const uint64_t begin = offset();
  const uint16_t nodeCount = u16();
  if (nodeCount > kMaxExprNodes)
    bad("expression has " + std::to_string(nodeCount) + " nodes, expected at most " +
        std::to_string(kMaxExprNodes));
  std::vector<ExprNode> nodes;
  for (uint16_t i = 0; i < nodeCount && ok(); ++i) {
    ExprNode node{static_cast<ExprOp>(u8()), 0};
    if (node.op == ExprOp::Constant)
      node.value = i64();
    else if (node.op == ExprOp::Symbol)
      node.value = u32();
    nodes.push_back(node);
  }
  nodes.shrink_to_fit();
  Expr expr(std::move(nodes));
  // Symbols are checked against the plan later; here the form, where the byte is known.
  if (ok())
    if (auto formed = expr.check(UINT32_MAX); !formed) {
      moveTo(begin);
      bad(formed.error().message);
    }
  return ok() ? expr : Expr();
}

} // namespace sinter::plan
