// Distribution, products: operands go to shared memory, K by K each thread multiplies what its sums
// need.
#include "base/check.h"
#include "sched/distributor.h"
#include "sched/dot_lanes.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kStepsPerTrip = 4;

// The layout of a line of a product's sums: the row (axis 0) or column (axis 1) coordinates that
// one thread holds, without repeats of the same.
static LaneLayout lineOf(const LaneLayout &sums, int axis) {
  SmallVector<LaneBit> registers, threads;
  for (LaneBit bit : sums.registerBits())
    if (bit.axis == axis)
      registers.push_back({0, bit.bit});
  for (LaneBit bit : sums.threadBits())
    threads.push_back(bit.axis == axis ? LaneBit{0, bit.bit} : LaneBit());
  return LaneLayout({sums.shape()[axis]}, std::move(registers), std::move(threads));
}

// Operands as the sums' element type, so that each step is one multiply-add.
static SmallVector<Value> widened(OpBuilder &b, Location loc, ArrayRef<Value> values, Type to) {
  return llvm::map_to_vector(values, [&](Value value) -> Value {
    if (value.getType() == to)
      return value;
    if (isa<FloatType>(to))
      return arith::ExtFOp::create(b, loc, to, value);
    return arith::ExtSIOp::create(b, loc, to, value);
  });
}

LogicalResult Distributor::emitDot(tile::DotOp op) {
  Type element = cast<RankedTensorType>(op.getA().getType()).getElementType();
  if (isa<tile::BlockType>(element))
    return op.emitOpError() << "multiplies blocks, which has no form for threads yet";
  if (element.isInteger(32))
    return op.emitOpError() << "multiplies words of pairs, which has no form for threads";
  return op->hasAttr(kInstruction) ? emitMatrix(op) : emitSums(op);
}

// The registers of one fragment: an atom's, at the given coordinates.
static Value fragmentAt(Distributor::Registers &registers, const LaneLayout &layout,
                        ArrayRef<int64_t> coords, llvm::function_ref<Value(ArrayRef<Value>)> pack) {
  int64_t first = layout.registerAt(coords);
  int64_t count = int64_t(1) << layout.registerBits().size();
  return pack(ArrayRef<Value>(registers).slice(first, count));
}

// The registers of a tile, zero where they lie beyond its extent along K: padding may hold
// anything, and infinity times zero is no zero.
Distributor::Registers Distributor::clearedBeyond(Value tile, int axis) {
  LaneLayout layout = LaneLayout::of(tile.getType());
  Registers registers = registersOf(tile);
  Value zero = arith::ConstantOp::create(
      b_, loc_, cast<TypedAttr>(b_.getZeroAttr(registers.front().getType())));
  for (auto [number, value] : llvm::enumerate(registers))
    if (Value inside = inAxis(layout, static_cast<int64_t>(number), axis))
      value = arith::SelectOp::create(b_, loc_, inside, value, zero);
  return registers;
}

// Operands lie as the instruction wants them; K ascends for each sum.
LogicalResult Distributor::emitMatrix(tile::DotOp op) {
  auto name = op->getAttrOfType<StringAttr>(kInstruction);
  const MatrixInstruction *instruction = findMatrixInstruction(name);
  SINTER_CHECK(instruction);
  LaneLayout sums = LaneLayout::of(op.getResult().getType()),
             left = LaneLayout::of(op.getA().getType()),
             right = LaneLayout::of(op.getB().getType());
  Registers a = clearedBeyond(op.getA(), 1), b = clearedBeyond(op.getB(), op.getTransposeB()),
            acc = registersOf(op.getAcc());
  auto pack = [&](ArrayRef<Value> values) { return vectorFrom(values); };
  int64_t count = int64_t(1) << sums.registerBits().size();
  for (int64_t k = 0; k < left.shape()[1]; k += instruction->k)
    for (int64_t m = 0; m < sums.shape()[0]; m += sums.atom(0))
      for (int64_t n = 0; n < sums.shape()[1]; n += sums.atom(1)) {
        SmallVector<int64_t> atB{k, n};
        if (op.getTransposeB())
          std::swap(atB[0], atB[1]);
        int64_t first = sums.registerAt({m, n});
        Value sum = MatrixOp::create(b_, loc_, name, fragmentAt(a, left, {m, k}, pack),
                                     fragmentAt(b, right, atB, pack),
                                     vectorFrom(ArrayRef<Value>(acc).slice(first, count)));
        llvm::copy(scalarsOf(sum, count), acc.begin() + first);
      }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

LogicalResult Distributor::emitSums(tile::DotOp op) {
  LaneLayout sums = LaneLayout::of(op.getResult().getType());
  LaneLayout left = LaneLayout::of(op.getA().getType()),
             right = LaneLayout::of(op.getB().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  int64_t m = sums.shape()[0], n = sums.shape()[1], k = left.shape()[1];
  FailureOr<SharedTile> a = place(op, {k, m}, element, 0);
  if (failed(a))
    return failure();
  int64_t after = llvm::alignTo(a->strides[0] * k * elementBytes(element), 16);
  FailureOr<SharedTile> b = place(op, {k, n}, element, after);
  if (failed(b))
    return failure();
  claimShared();
  put(*a, left, widened(b_, loc_, registersOf(op.getA()), element), {0, 0}, {1, 0});
  put(*b, right, widened(b_, loc_, registersOf(op.getB()), element), {0, 0},
      op.getTransposeB() ? ArrayRef<int64_t>{1, 0} : ArrayRef<int64_t>{0, 1});
  barrier();
  LaneLayout rows = lineOf(sums, 0), columns = lineOf(sums, 1);
  int64_t steps = k % kStepsPerTrip ? 1 : kStepsPerTrip;
  auto loop =
      scf::ForOp::create(b_, loc_, index(0), index(k), index(steps), registersOf(op.getAcc()));
  OpBuilder::InsertionGuard guard(b_);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b_.setInsertionPointToEnd(loop.getBody());
  Registers acc(loop.getRegionIterArgs());
  Value at = b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), loop.getInductionVar());
  for (int64_t step = 0; step < steps; ++step) {
    auto line = [&](const SharedTile &tile, const LaneLayout &layout) {
      step_ = add(mul(at, int32(tile.strides[0] * elementBytes(element))), int32(0));
      return take(tile, layout, element, {step, 0}, {1});
    };
    Registers leftLine = line(*a, rows), rightLine = line(*b, columns);
    for (auto [number, sum] : llvm::enumerate(acc)) {
      SmallVector<int64_t> coords = sums.registerCoords(static_cast<int64_t>(number));
      Value x = leftLine[rows.registerAt({coords[0]})],
            y = rightLine[columns.registerAt({coords[1]})];
      sum = isa<FloatType>(element)
                ? math::FmaOp::create(b_, loc_, x, y, sum).getResult()
                : arith::AddIOp::create(b_, loc_, sum, arith::MulIOp::create(b_, loc_, x, y));
    }
  }
  step_ = {};
  scf::YieldOp::create(b_, loc_, acc);
  registers_[op.getResult()] = Registers(loop.getResults());
  return success();
}

} // namespace sinter::sched
