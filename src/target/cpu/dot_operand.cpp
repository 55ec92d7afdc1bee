// Codes of weights as bytes: planes put together, tables looked up.
#include "target/cpu/dot_operand.h"

using namespace mlir;

namespace sinter::target::cpu {

int32_t zeroOf(const DotPacking &packing, const CpuFacts &facts) {
  int32_t largest = packing.table.empty() ? (1 << packing.format->code.width()) - 1
                                          : *llvm::max_element(packing.table);
  bool fits = !facts.instructions.signedBytes || largest <= INT8_MAX;
  return fits ? packing.zero : packing.zero + INT8_MIN;
}

int32_t panelZeroOf(const CpuFacts &facts, bool minima) {
  return facts.instructions.signedBytes || minima ? 0 : kActivationStartZero;
}

SmallVector<uint32_t> DotOperand::order(uint32_t element) const {
  return llvm::to_vector(llvm::seq<uint32_t>(element / 4, (element + groupLength()) / 4));
}

Value PackedOperand::constant(int64_t byte) {
  return arith::ConstantOp::create(b_, loc_,
                                   DenseElementsAttr::get(bytes_, static_cast<int8_t>(byte)));
}

// Bits of four codes of each row at their place.
Value PackedOperand::partOf(const CodePart &part) {
  Value bits = blocks_.codes(part.byte);
  if (part.shift)
    bits = arith::ShRUIOp::create(b_, loc_, bits, constant(part.shift));
  if (part.shift + part.width < 8)
    bits = arith::AndIOp::create(b_, loc_, bits, constant((1 << part.width) - 1));
  if (part.to)
    bits = arith::ShLIOp::create(b_, loc_, bits, constant(part.to));
  return bits;
}

Value PackedOperand::fromTable(Value codes, int32_t more) {
  SmallVector<int8_t> entries;
  for (size_t lane = 0; lane < static_cast<size_t>(bytes_.getNumElements()); ++lane)
    entries.push_back(static_cast<int8_t>(packing_.table[lane % packing_.table.size()] + more));
  Value table =
      arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(bytes_, ArrayRef(entries)));
  return LLVM::CallIntrinsicOp::create(b_, loc_, bytes_, b_.getStringAttr(lookup_),
                                       ValueRange{table, codes})
      .getResult(0);
}

Value PackedOperand::codes(uint32_t group, int32_t zero) {
  Value codes;
  for (const CodePart &part : packing_.groups[group].used()) {
    Value bits = partOf(part);
    codes = codes ? arith::OrIOp::create(b_, loc_, codes, bits).getResult() : bits;
  }
  int32_t more = zero - packing_.zero;
  if (!packing_.table.empty())
    return fromTable(codes, more);
  return more ? arith::AddIOp::create(b_, loc_, codes, constant(more)).getResult() : codes;
}

Value PackedOperand::scale(uint32_t element) {
  return fields_.factor(packing_.format->scale, element);
}

Value PackedOperand::min(uint32_t element) {
  return packing_.format->min.present() ? fields_.factor(packing_.format->min, element) : Value();
}

SmallVector<uint32_t> PackedOperand::order(uint32_t element) const {
  SmallVector<uint32_t> order = DotOperand::order(element);
  llvm::stable_sort(order, [&](uint32_t x, uint32_t y) {
    return packing_.groups[x].parts[0].byte < packing_.groups[y].parts[0].byte;
  });
  return order;
}

Value PanelOperand::codes(uint32_t group) {
  Value words = words_(group);
  int64_t lanes = cast<VectorType>(words.getType()).getDimSize(0);
  auto bytes = VectorType::get({lanes * 4}, b_.getI8Type());
  return LLVM::BitcastOp::create(b_, loc_, bytes, words);
}

} // namespace sinter::target::cpu
