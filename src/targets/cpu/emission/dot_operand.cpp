// Codes of weights as bytes: planes put together, tables looked up.
#include "targets/cpu/emission/dot_operand.h"

using namespace mlir;

namespace sinter::targets::cpu {

GroupScales groupScalesOf(const BlockFormat &weights, const ActivationFormat &activation,
                          const CpuFacts &facts) {
  std::optional<IntegerScales> integers = integerScales(weights, activation);
  return {integers, integers && facts.instructions.wordDot};
}

SmallVector<uint32_t> DotOperand::order(uint32_t element, uint32_t length) const {
  return llvm::to_vector(llvm::seq<uint32_t>(element / 4, (element + length) / 4));
}

Value PackedOperand::constant(int64_t byte) {
  return arith::ConstantOp::create(b_, loc_,
                                   DenseElementsAttr::get(bytes_, static_cast<int8_t>(byte)));
}

Value wordPairs(OpBuilder &b, Location loc, Value low, Value high) {
  auto type = cast<VectorType>(low.getType());
  auto words = VectorType::get({2 * type.getNumElements()}, b.getI16Type());
  SmallVector<int64_t> order;
  for (int64_t at = 0; at < words.getNumElements(); ++at)
    order.push_back(at % 2 ? words.getNumElements() + at : at);
  Value pairs = vector::ShuffleOp::create(b, loc, LLVM::BitcastOp::create(b, loc, words, low),
                                          LLVM::BitcastOp::create(b, loc, words, high), order);
  return LLVM::BitcastOp::create(b, loc, type, pairs);
}

Value sumOfWords(OpBuilder &b, Location loc, Value pairs) {
  Value half = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(cast<VectorType>(pairs.getType()), int32_t(16)));
  Value low = arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, pairs, half), half);
  return arith::AddIOp::create(b, loc, low, arith::ShRSIOp::create(b, loc, pairs, half));
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

Value PackedOperand::scaleNumbers(uint32_t element, bool pairs) {
  const GroupFactor &scale = packing_.format->scale;
  Value numbers = fields_.steps(scale, element);
  if (pairs) {
    Value second = fields_.steps(scale, element + packing_.groupLength);
    Value high = arith::ShLIOp::create(b_, loc_, second, fields_.ints(second.getType(), 16));
    numbers = wordPairs(b_, loc_, numbers, high);
  }
  scaleNumbers_.add(b_, loc_, numbers, pairs);
  return numbers;
}

void ScaleNumbers::add(OpBuilder &b, Location loc, Value numbers, bool pairs) {
  auto type = cast<VectorType>(numbers.getType());
  auto words = VectorType::get({2 * type.getNumElements()}, b.getI16Type());
  Value items = pairs ? LLVM::BitcastOp::create(b, loc, words, numbers).getResult() : numbers;
  sum_ = sum_ ? arith::AddIOp::create(b, loc, sum_, items).getResult() : items;
}

Value ScaleNumbers::sum(OpBuilder &b, Location loc) const {
  auto type = cast<VectorType>(sum_.getType());
  if (type.getElementType().isInteger(32))
    return sum_;
  auto numbers = VectorType::get({type.getNumElements() / 2}, b.getI32Type());
  return sumOfWords(b, loc, LLVM::BitcastOp::create(b, loc, numbers, sum_));
}

std::pair<Value, Value> PackedOperand::totalScale() {
  const BlockFormat &format = *packing_.format;
  const IntegerScales integers = *integerScales(format);
  Value unit = fields_.number(format.scale.level1, 0);
  auto splat = [&](float value) { return fields_.splat(unit.getType(), value); };
  Value scale = arith::MulFOp::create(b_, loc_, unit, splat(integers.factor()));
  if (!integers.shift)
    return {scale, splat(0)};
  if (!scaleNumbers_.present())
    for (uint32_t at = 0; at < format.blockLength; at += packing_.groupLength)
      (void)scaleNumbers(at, /*pairs=*/false);
  Value lost = arith::MulFOp::create(b_, loc_, scale, splat(integers.lost()));
  Value sum = arith::SIToFPOp::create(b_, loc_, unit.getType(), scaleNumbers_.sum(b_, loc_));
  return {scale, arith::MulFOp::create(b_, loc_, sum, lost)};
}

Value PackedOperand::min(uint32_t element) {
  return packing_.format->min.present() ? fields_.factor(packing_.format->min, element) : Value();
}

SmallVector<uint32_t> PackedOperand::order(uint32_t element, uint32_t length) const {
  SmallVector<uint32_t> order = DotOperand::order(element, length);
  llvm::stable_sort(order, [&](uint32_t x, uint32_t y) {
    return packing_.groups[x].parts[0].byte < packing_.groups[y].parts[0].byte;
  });
  return order;
}

Value PanelOperand::codes(uint32_t group) {
  Value words = parts_.words(group);
  int64_t lanes = cast<VectorType>(words.getType()).getDimSize(0);
  auto bytes = VectorType::get({lanes * 4}, b_.getI8Type());
  return LLVM::BitcastOp::create(b_, loc_, bytes, words);
}

} // namespace sinter::targets::cpu
