// A GEMV leaves most of a matrix instruction idle and waits for memory. Threads split K: each reads
// its own part of b once.
#include "tile/mlir_pch.h"

#include "sched/simt/fold_sums.h"
#include "sched/simt/prefetch_loads.h"
#include "sched/simt/reduce_dots.h"

using namespace mlir;

namespace sinter::sched {

static RankedTensorType typeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType());
}

static Value widened(OpBuilder &b, Location loc, Value tile) {
  Type f32 = b.getF32Type();
  if (typeOf(tile).getElementType() == f32)
    return tile;
  return arith::ExtFOp::create(b, loc, typeOf(tile).clone(f32), tile);
}

static bool isRow(tile::DotOp dot) {
  Type element = typeOf(dot.getA()).getElementType();
  return typeOf(dot.getAcc()).getDimSize(0) == 1 && typeOf(dot.getAcc()).getRank() == 2 &&
         typeOf(dot.getAcc()).getElementType().isF32() && isa<FloatType>(element) &&
         element.getIntOrFloatBitWidth() <= 32;
}

namespace {
/// The factors of a row's products, of one shape, and the axis along K.
struct Factors {
  Value left, right;
  uint32_t axis = 1;
};
} // namespace

static Factors factorsOf(OpBuilder &b, tile::DotOp dot) {
  Location loc = dot.getLoc();
  const bool across = dot.getTransposeB(); // b is [n, k]
  Factors f{widened(b, loc, dot.getA()), widened(b, loc, dot.getB()), across ? 1u : 0u};
  RankedTensorType type = typeOf(f.right);
  if (!across)
    f.left = tile::ReshapeOp::create(b, loc, typeOf(f.left).clone({type.getDimSize(0), 1}), f.left);
  f.left = tile::BroadcastOp::create(b, loc, type, f.left);
  return f;
}

// The sums along K, [1, n].
static Value reduced(OpBuilder &b, Location loc, Value products, uint32_t axis) {
  RankedTensorType type = typeOf(products);
  const int64_t n = type.getDimSize(1 - axis);
  SmallVector<int64_t> column = axis == 1 ? SmallVector<int64_t>{n, 1} : SmallVector<int64_t>{1, n};
  Value sum =
      tile::ReduceOp::create(b, loc, type.clone(column), tile::ReduceKind::Sum, products, axis);
  return axis == 1 ? tile::ReshapeOp::create(b, loc, type.clone({1, n}), sum).getResult() : sum;
}

static void reduce(tile::DotOp dot) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  const Factors f = factorsOf(b, dot);
  Value product = arith::MulFOp::create(b, loc, f.left, f.right);
  Value result = arith::AddFOp::create(b, loc, dot.getAcc(), reduced(b, loc, product, f.axis));
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
}

// The loop around a matmul to whose result, zero at first, the matmul alone adds; else null.
static scf::ForOp loopOfSums(tile::DotOp dot) {
  auto argument = dyn_cast<BlockArgument>(dot.getAcc());
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
  if (!init || dot->getParentOp() != loop || !argument.hasOneUse() || !dot->hasOneUse() ||
      loop.getTiedLoopYieldedValue(argument)->get() != dot.getResult())
    return {};
  return matchPattern(init->get(), m_AnyZeroFloat()) ? loop : scf::ForOp();
}

static void fuse(tile::DotOp dot, scf::ForOp loop) {
  auto argument = cast<BlockArgument>(dot.getAcc());
  OpResult ended = loop.getTiedLoopResult(argument);
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  const Factors f = factorsOf(b, dot);
  RankedTensorType type = typeOf(f.right);
  Value sums = math::FmaOp::create(b, loc, f.left, f.right, argument);
  dot.getResult().replaceAllUsesWith(sums);
  dot.erase();
  b.setInsertionPoint(loop);
  loop.getTiedLoopInit(argument)->set(
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type)).getResult());
  argument.setType(type);
  ended.setType(type);
  b.setInsertionPointAfter(loop);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : ended.getUses())
    uses.push_back(&use);
  Value result = reduced(b, loc, ended, f.axis);
  for (OpOperand *use : uses)
    use->set(result);
}

void reduceDots(tile::KernelOp kernel, const SimtFacts &facts) {
  SmallVector<tile::DotOp> rows;
  kernel.walk([&](tile::DotOp dot) {
    if (isRow(dot))
      rows.push_back(dot);
  });
  for (tile::DotOp dot : rows)
    if (scf::ForOp loop = facts.fusesSums ? loopOfSums(dot) : scf::ForOp()) {
      fuse(dot, loop);
      for (StringRef name : {StringRef(kReadsAhead), StringRef(kFoldsSums)})
        kernel->setAttr(name, UnitAttr::get(kernel.getContext()));
    } else {
      reduce(dot);
    }
}

} // namespace sinter::sched
