// Distribution, matmuls: operands go to shared memory, K by K each thread multiplies what its
// accumulators need.
#include "base/check.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kStepsPerTrip = 4;
static constexpr int64_t kMostTurns = 32;  // of operands in shared memory, each code of its own
static constexpr int64_t kPieceBytes = 16; // of the widest access

// The layout of a line of a matmul's accumulators: the row (axis 0) or column (axis 1) coordinates
// that one thread holds, without repeats of the same.
static SimtLayout lineOf(const SimtLayout &accumulators, int axis) {
  SmallVector<LayoutBit> registers, threads;
  for (LayoutBit bit : accumulators.registerBits())
    if (bit.axis == axis)
      registers.push_back({0, bit.bit});
  for (LayoutBit bit : accumulators.threadBits())
    threads.push_back(bit.axis == axis ? LayoutBit{0, bit.bit} : LayoutBit());
  return SimtLayout({accumulators.shape()[axis]}, std::move(registers), std::move(threads));
}

// Operands as the accumulators' element type, so that each step is one multiply-add.
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
  return op->hasAttr(kInstruction) ? emitMatrix(op) : emitAccumulators(op);
}

// The registers of one fragment: an atom's, at the given coordinates.
static Value fragmentAt(Distributor::Registers &registers, const SimtLayout &layout,
                        ArrayRef<int64_t> coords, llvm::function_ref<Value(ArrayRef<Value>)> pack) {
  int64_t first = layout.registerAt(coords);
  int64_t count = int64_t(1) << layout.registerBits().size();
  return pack(ArrayRef<Value>(registers).slice(first, count));
}

// The registers of a tile, zero where they lie beyond its extent along K: padding may hold
// anything, and infinity times zero is no zero.
Distributor::Registers Distributor::clearedBeyond(Value tile, int axis) {
  SimtLayout layout = SimtLayout::of(tile.getType());
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
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType()),
             left = SimtLayout::of(op.getA().getType()),
             right = SimtLayout::of(op.getB().getType());
  Registers a = clearedBeyond(op.getA(), 1), b = clearedBeyond(op.getB(), op.getTransposeB()),
            acc = registersOf(op.getAcc());
  auto pack = [&](ArrayRef<Value> values) { return vectorFrom(values); };
  int64_t count = int64_t(1) << accumulators.registerBits().size();
  for (int64_t k = 0; k < left.shape()[1]; k += instruction->k)
    for (int64_t m = 0; m < accumulators.shape()[0]; m += accumulators.atom(0))
      for (int64_t n = 0; n < accumulators.shape()[1]; n += accumulators.atom(1)) {
        SmallVector<int64_t> atB{k, n};
        if (op.getTransposeB())
          std::swap(atB[0], atB[1]);
        int64_t first = accumulators.registerAt({m, n});
        Value sum = MatrixOp::create(b_, loc_, name, fragmentAt(a, left, {m, k}, pack),
                                     fragmentAt(b, right, atB, pack),
                                     vectorFrom(ArrayRef<Value>(acc).slice(first, count)));
        llvm::copy(scalarsOf(sum, count), acc.begin() + first);
      }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

// Elements along K of both operands that are in shared memory together: all of them, or equal parts
// in turns; 0 where not even few would fit.
int64_t Distributor::depthInTurns(const SharedTile &a, const SharedTile &b, int64_t k) const {
  const int64_t room = facts_.maxShared - a.base;
  const int64_t unit = std::max(kStepsPerTrip, kPieceBytes / elementBytes(a.element));
  auto bytes = [&](int64_t depth) {
    auto of = [&](const SharedTile &tile) {
      return llvm::alignTo(depth * tile.strides[0] * elementBytes(tile.element), kPieceBytes);
    };
    return static_cast<int64_t>(of(a) + of(b));
  };
  for (int64_t turns = 1, depth = k; turns <= kMostTurns; ++turns) {
    depth = turns == 1 ? k : llvm::alignTo(llvm::divideCeil(k, turns), unit);
    if (bytes(depth) <= room)
      return depth;
  }
  return 0;
}

// The matmuls of `depth` elements along K that shared memory holds, added to `acc`.
Distributor::Registers Distributor::accumulatorsOfShared(tile::DotOp op, const SharedTile &a,
                                                         const SharedTile &b, int64_t depth,
                                                         const Registers &before) {
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType());
  SimtLayout rows = lineOf(accumulators, 0), columns = lineOf(accumulators, 1);
  Type element = a.element;
  int64_t steps = depth % kStepsPerTrip ? 1 : kStepsPerTrip;
  auto loop = scf::ForOp::create(b_, loc_, index(0), index(depth), index(steps), before);
  OpBuilder::InsertionGuard guard(b_);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b_.setInsertionPointToEnd(loop.getBody());
  Registers acc(loop.getRegionIterArgs());
  Value at = b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), loop.getInductionVar());
  for (int64_t step = 0; step < steps; ++step) {
    auto line = [&](const SharedTile &tile, const SimtLayout &layout) {
      step_ = add(mul(at, int32(tile.strides[0] * elementBytes(element))), int32(0));
      Registers taken;
      take(tile, layout, taken, element, {step, 0}, {1});
      return taken;
    };
    Registers leftLine = line(a, rows), rightLine = line(b, columns);
    for (auto [number, sum] : llvm::enumerate(acc)) {
      SmallVector<int64_t> coords = accumulators.registerCoords(static_cast<int64_t>(number));
      Value x = leftLine[rows.registerAt({coords[0]})],
            y = rightLine[columns.registerAt({coords[1]})];
      sum = isa<FloatType>(element)
                ? math::FmaOp::create(b_, loc_, x, y, sum).getResult()
                : arith::AddIOp::create(b_, loc_, sum, arith::MulIOp::create(b_, loc_, x, y));
    }
  }
  step_ = {};
  scf::YieldOp::create(b_, loc_, acc);
  return Registers(loop.getResults());
}

// Bytes [begin, end) along K of a tile whose first axis that is.
static SharedTile windowAlong(const SharedTile &tile, int64_t begin, int64_t end) {
  const int64_t row = tile.strides[0] * elementBytes(tile.element);
  SharedTile window = tile;
  window.begin = begin * row;
  window.end = static_cast<int64_t>(llvm::alignTo(end * row, kPieceBytes));
  return window;
}

LogicalResult Distributor::emitAccumulators(tile::DotOp op) {
  SimtLayout accumulators = SimtLayout::of(op.getResult().getType());
  SimtLayout left = SimtLayout::of(op.getA().getType()),
             right = SimtLayout::of(op.getB().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  int64_t m = accumulators.shape()[0], n = accumulators.shape()[1], k = left.shape()[1];
  SharedTile a = placed({k, m}, element, 0), b = placed({k, n}, element, 0);
  const int64_t depth = depthInTurns(a, b, k);
  if (!depth)
    return tooLarge(op, a.base + a.bytes + b.bytes);
  b.base += llvm::alignTo(depth * a.strides[0] * elementBytes(element), kPieceBytes);
  shared_ = std::max<int64_t>(
      shared_, b.base + llvm::alignTo(depth * b.strides[0] * elementBytes(element), kPieceBytes));
  Registers acc = registersOf(op.getAcc());
  for (int64_t begin = 0; begin < k; begin += depth) {
    const int64_t end = std::min(begin + depth, k);
    claimShared();
    put(windowAlong(a, begin, end), left, widened(b_, loc_, registersOf(op.getA()), element),
        {0, 0}, {1, 0});
    put(windowAlong(b, begin, end), right, widened(b_, loc_, registersOf(op.getB()), element),
        {0, 0}, op.getTransposeB() ? ArrayRef<int64_t>{1, 0} : ArrayRef<int64_t>{0, 1});
    barrier();
    acc = accumulatorsOfShared(op, a, b, end - begin, acc);
  }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

} // namespace sinter::sched
