// A GEMV leaves most of a matrix instruction idle and waits for memory. Threads split K: each reads
// its own part of b once.
#include "tile/mlir_pch.h"

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

static void reduce(tile::DotOp dot) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  bool across = dot.getTransposeB(); // b is [n, k]
  Value left = widened(b, loc, dot.getA()), right = widened(b, loc, dot.getB());
  RankedTensorType type = typeOf(right);
  uint32_t axis = across ? 1 : 0;
  int64_t n = type.getDimSize(1 - axis), k = type.getDimSize(axis);
  if (!across)
    left = tile::ReshapeOp::create(b, loc, typeOf(left).clone({k, 1}), left);
  left = tile::BroadcastOp::create(b, loc, type, left);
  Value product = arith::MulFOp::create(b, loc, left, right);
  SmallVector<int64_t> column = across ? SmallVector<int64_t>{n, 1} : SmallVector<int64_t>{1, n};
  Value sum =
      tile::ReduceOp::create(b, loc, type.clone(column), tile::ReduceKind::Sum, product, axis);
  if (across)
    sum = tile::ReshapeOp::create(b, loc, type.clone({1, n}), sum);
  Value result = arith::AddFOp::create(b, loc, dot.getAcc(), sum);
  dot.getResult().replaceAllUsesWith(result);
  dot.erase();
}

void reduceDots(tile::KernelOp kernel) {
  SmallVector<tile::DotOp> rows;
  kernel.walk([&](tile::DotOp dot) {
    if (isRow(dot))
      rows.push_back(dot);
  });
  for (tile::DotOp dot : rows)
    reduce(dot);
}

} // namespace sinter::sched
