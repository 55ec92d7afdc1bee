// Program ids are replaced by ones that go down a group of rows before the next column.
#include "tile/mlir_pch.h"

#include "sched/simt/group_programs.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kGroupRows = 8;

namespace {
/// Unsigned index arithmetic at one place.
struct Indices {
  OpBuilder &b;
  Location loc;

  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value div(Value x, Value y) { return b.createOrFold<arith::DivUIOp>(loc, x, y); }
  Value rem(Value x, Value y) { return b.createOrFold<arith::RemUIOp>(loc, x, y); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinUIOp>(loc, x, y); }
};
} // namespace

static bool isOne(Value value) {
  return getConstantIntValue(value) == int64_t(1);
}

// Column and row of the program that the hardware numbers (x, y).
static std::pair<Value, Value> placeOf(Indices i, tile::GridOp grid) {
  Value x = tile::ProgramIdOp::create(i.b, i.loc, 0u),
        y = tile::ProgramIdOp::create(i.b, i.loc, 1u);
  Value most = arith::ConstantIndexOp::create(i.b, i.loc, kGroupRows);
  Value number = i.add(i.mul(y, grid.getX()), x), perGroup = i.mul(grid.getX(), most);
  Value group = i.div(number, perGroup), inGroup = i.rem(number, perGroup);
  Value first = i.mul(group, most), height = i.min(i.sub(grid.getY(), first), most);
  Value row = i.add(first, i.rem(inGroup, height));
  return {i.div(inGroup, height), row};
}

void groupPrograms(tile::KernelOp kernel) {
  bool dots = kernel.walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  tile::GridOp grid = kernel.getGrid();
  if (!dots || !isOne(grid.getZ()) || isOne(grid.getX()) || isOne(grid.getY()))
    return;
  SmallVector<tile::ProgramIdOp> ids;
  bool early = false; // an id that the grid's own operands could need
  kernel.walk([&](tile::ProgramIdOp id) {
    early |= id->getBlock() == grid->getBlock() && id->isBeforeInBlock(grid);
    if (id.getAxis() < 2)
      ids.push_back(id);
  });
  if (early)
    return;
  OpBuilder b(grid);
  b.setInsertionPointAfter(grid);
  auto [column, row] = placeOf({b, grid.getLoc()}, grid);
  for (tile::ProgramIdOp id : ids) {
    id.getResult().replaceAllUsesWith(id.getAxis() == 0 ? column : row);
    id.erase();
  }
}

} // namespace sinter::sched
