// Little-endian numbers, texts and expressions of the plan file.
#include "plan/encoding.h"

namespace sinter::plan {

void Writer::number(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void Writer::text(std::string_view value) {
  count(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

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

void Reader::bad(std::string message) {
  if (!error_)
    error_ = Status{Code::Corrupt, std::move(message), offset_};
}

std::span<const uint8_t> Reader::raw(uint64_t bytes) {
  if (!error_ && bytes > left())
    bad("a value of " + std::to_string(bytes) + " bytes is past its section's end, " +
        std::to_string(left()) + " are left");
  if (error_)
    return {};
  auto result = file_.subspan(offset_, bytes);
  offset_ += bytes;
  return result;
}

uint64_t Reader::number(uint64_t bytes) {
  uint64_t value = 0;
  auto data = raw(bytes);
  for (std::size_t i = 0; i < data.size(); ++i)
    value |= uint64_t(data[i]) << (8 * i);
  return value;
}

std::vector<uint8_t> Reader::blob() {
  auto data = raw(u64());
  return {data.begin(), data.end()};
}

std::string Reader::text() {
  auto data = raw(u32());
  return {data.begin(), data.end()};
}

Expr Reader::expr() {
  const uint64_t begin = offset_;
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
      offset_ = begin;
      bad(formed.error().message);
    }
  return ok() ? expr : Expr();
}

uint32_t Reader::count(uint64_t minBytes, const char *what, uint64_t limit) {
  const uint64_t begin = offset_;
  const uint32_t value = u32();
  if (!ok() || (value <= left() / minBytes && value <= limit))
    return ok() ? value : 0;
  const uint64_t bytesLeft = left();
  offset_ = begin;
  bad(std::to_string(value) + " " + what + " announced, expected at most " +
      std::to_string(std::min(limit, bytesLeft / minBytes)));
  return 0;
}

Result<void> Reader::finish(const char *what) {
  if (ok() && left() != 0)
    bad(std::to_string(left()) + " bytes are left over in section '" + what + "'");
  if (error_)
    return tl::unexpected(*error_);
  return {};
}

} // namespace sinter::plan
