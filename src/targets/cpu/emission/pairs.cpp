// Emission, pairs: words of two bf16, and their products by the processor's instruction.
#include "targets/cpu/emission/emitter.h"

using namespace mlir;

namespace sinter::targets::cpu {

static Value call(OpBuilder &b, Location loc, const char *instruction, Type type,
                  ArrayRef<Value> operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(instruction), operands)
      .getResult(0);
}

static VectorType halvesOf(OpBuilder &b, int64_t lanes) {
  return VectorType::get({2 * lanes}, b.getBF16Type());
}

// Two vectors as one of bf16, of `first` and then of `second`.
static Value halvesOf(OpBuilder &b, Location loc, const CpuFacts &facts, Value first,
                      Value second) {
  if (getElementTypeOrSelf(first.getType()).isF32())
    return call(b, loc, facts.instructions.bfloatPair, halvesOf(b, facts.lanes), {second, first});
  return vector::ShuffleOp::create(b, loc, first, second,
                                   llvm::to_vector(llvm::seq<int64_t>(0, 2 * facts.lanes)));
}

// The vectors of two neighbours as one of words: of `first` and `second` themselves where these
// follow each other, else lane by lane.
static Value wordsOf(OpBuilder &b, Location loc, const CpuFacts &facts, Value first, Value second,
                     bool follow) {
  Value halves = halvesOf(b, loc, facts, first, second);
  if (!follow) {
    SmallVector<int64_t> turns;
    for (int64_t i = 0; i < facts.lanes; ++i)
      turns.append({i, facts.lanes + i});
    Value bits =
        LLVM::BitcastOp::create(b, loc, VectorType::get({2 * facts.lanes}, b.getI16Type()), halves);
    halves = vector::ShuffleOp::create(b, loc, bits, bits, turns);
  }
  return LLVM::BitcastOp::create(b, loc, VectorType::get({facts.lanes}, b.getI32Type()), halves);
}

LogicalResult Emitter::emitPair(sched::PairOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (!facts_.instructions.bfloatPair)
    return op.emitOpError() << "makes pairs of bf16, which " << facts_.targetName()
                            << " has no instruction for";
  bool matrix = type.getRank() == 2;
  bool along = matrix && axis == 1 && type.getDimSize(1) % facts_.lanes == 0;
  int64_t lane = along ? 1 : 1 - axis;
  if (!matrix || type.getDimSize(lane) % facts_.lanes)
    return op.emitOpError() << "makes " << type << ", expected a matrix of whole vectors of "
                            << facts_.lanes;
  const Pieces from = relayout(tiles_.find(op.getValue())->second, lane);
  Pieces words{SmallVector<int64_t>(type.getShape()), lane, false, {}};
  int64_t perRow = piecesAlong(type.getDimSize(lane)), apart = along ? 1 : perRow;
  for (int64_t i = 0, count = static_cast<int64_t>(from.values.size()) / 2; i < count; ++i) {
    int64_t first = i / apart * 2 * apart + i % apart;
    words.values.push_back(
        wordsOf(b_, loc_, facts_, from.values[first], from.values[first + apart], along));
  }
  tiles_[op.getResult()] = words;
  return success();
}

LogicalResult Emitter::emitPairDot(tile::DotOp op) {
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  int64_t depth = cast<RankedTensorType>(op.getA().getType()).getDimSize(1),
          perRow = piecesAlong(type.getDimSize(1));
  if (!facts_.instructions.bfloatDot)
    return op.emitOpError() << "multiplies pairs of bf16, which " << facts_.targetName()
                            << " has no instruction for";
  if (type.getDimSize(1) % facts_.lanes)
    return op.emitOpError() << "multiplies pairs into " << type << ", expected whole vectors of "
                            << facts_.lanes << " columns";
  Pieces a = relayout(tiles_.find(op.getA())->second, -1);
  Pieces b = relayout(tiles_.find(op.getB())->second, op.getTransposeB() ? 0 : 1);
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, 1);
  auto halves = [&](Value words) -> Value {
    return LLVM::BitcastOp::create(b_, loc_, halvesOf(b_, facts_.lanes), words);
  };
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t r = 0; r < type.getDimSize(0); ++r) {
      Value row = halves(splatTo(a.values[r * depth + k], facts_.lanes));
      for (int64_t p = 0; p < perRow; ++p) {
        Value &sum = acc.values[r * perRow + p];
        sum = call(b_, loc_, facts_.instructions.bfloatDot, sum.getType(),
                   {sum, row, halves(b.values[k * perRow + p])});
      }
    }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::targets::cpu
