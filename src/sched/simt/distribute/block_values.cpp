// Distribution, block formats in the file's order: each thread dequantizes its own elements.
#include "sched/simt/distribute/block_reader.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/split_dots.h"
#include "sched/view_bounds.h"

#include <memory>
#include <numeric>

using namespace mlir;

namespace sinter::sched {

/// Where a tile of blocks begins: a multiple of `step` elements, a power of two of at most a block.
/// Below it elements differ by thread and register alone.
struct BlockSteps {
  int64_t step = 0;
  int64_t per = 1;         // elements of one coordinate along the last axis
  uint32_t threadBits = 0; // of elements
};

static BlockSteps stepsOf(const SimtAccess &access, int64_t divisor, int64_t per) {
  const int last = access.layout.rank() - 1;
  BlockSteps steps{access.view.length, per};
  if (divisor)
    steps.step = std::min(steps.step, divisor & -divisor);
  for (LayoutBit bit : access.layout.threadBits())
    if (bit.axis == last && per << bit.bit < access.view.length)
      steps.threadBits |= static_cast<uint32_t>(per << bit.bit);
  return steps;
}

// The element of a register, of which `part` along the last axis is a multiple of `step`.
BlockElement Distributor::blockElement(SimtAccess &access, int64_t number,
                                       const BlockSteps &steps) {
  const SimtView &view = access.view;
  const int last = access.layout.rank() - 1;
  const int64_t length = view.length, step = steps.step;
  SmallVector<int64_t> parts = access.layout.registerCoords(number);
  const int64_t part = parts[last] * steps.per / step * step;
  BlockElement element;
  element.when = inTile(access.layout, number);
  for (int axis = 0; axis < last; ++axis)
    element.when = both(element.when, insideAxis(access, axis, parts[axis]));
  Value thread = threadPart(access.layout)[last]; // i32
  if (steps.per != 1)
    thread = mul(thread, int32(steps.per));
  Value along = add(add(access.uniform[last], toIndex(thread)), index(part));
  element.when = both(element.when, isWithin(b_, loc_, along, view.low[last], view.dims[last]));
  Value start = add(access.uniform[last], view.origin[last]), varying = thread;
  if (step < length) // steps share blocks
    varying = add(
        thread, b_.createOrFold<arith::IndexCastUIOp>(
                    loc_, b_.getI32Type(),
                    b_.createOrFold<arith::RemUIOp>(loc_, add(start, index(part)), index(length))));
  Value block = b_.createOrFold<arith::DivUIOp>(loc_, add(start, index(part)), index(length));
  Value more = b_.createOrFold<arith::DivUIOp>(loc_, varying, int32(length));
  const int64_t interleave = std::max<int64_t>(1, view.type.getInterleave());
  element.byte =
      add(byteAt(access, number), mul(add(block, toIndex(more)), index(view.bytes * interleave)));
  if (interleave > 1) {
    Value row = add(add(view.origin[0], access.at[0]), index(parts[0]));
    element.row = b_.createOrFold<arith::RemUIOp>(loc_, row, index(interleave));
    element.byte = add(element.byte, mul(element.row, index(WordPacking::kWordBytes)));
  }
  element.mask =
      (steps.threadBits & static_cast<uint32_t>(step - 1)) | static_cast<uint32_t>(length - step);
  if (element.mask)
    element.varying = b_.createOrFold<arith::AndIOp>(loc_, varying, int32(length - 1));
  return element;
}

// What a part of blocks is of one element; an element of the tile stands for `per` of the view's.
static Value partOf(BlockReader &reader, const BlockFormat &format, StringRef field,
                    const BlockElement &element) {
  if (field == "numbers")
    return reader.numbers(element);
  if (field == "value")
    return reader.value(element);
  Value scale = reader.groupFactor(format.scale, element);
  return field == "group_scale" ? scale : reader.biasedMin(scale, element);
}

static int64_t elementsOf(BlockLoadOp op, const BlockFormat &format) {
  if (op.getField() == "numbers")
    return 2;
  return op.getField() == "value" ? 1 : groupAlongK(format);
}

/// A tile of blocks, each register of which is made when it is asked for.
struct BlockTile {
  BlockLoadOp op;
  const BlockFormat &format;
  SimtAccess access;
  BlockSteps steps;
  BlockReader reader;
  std::map<std::vector<int64_t>, BlockElement> known = {}; // by coordinates, in steps along blocks
};

std::shared_ptr<BlockTile> Distributor::blockTileOf(BlockLoadOp op) {
  const SimtView &view = views_.find(op.getView())->second;
  const BlockFormat &format =
      *tile::blockFormatOf(cast<tile::BlockType>(view.type.getElementType()));
  SimtAccess access = accessOf(view, op.getOffsets(), SimtLayout::of(op.getResult().getType()));
  const int last = access.layout.rank() - 1;
  const BlockSteps steps =
      stepsOf(access, std::gcd(view.originDivisor[last], divisorOf(op.getOffsets()[last])),
              elementsOf(op, format));
  return std::make_shared<BlockTile>(BlockTile{
      op, format, access, steps, BlockReader(b_, loc_, view.argument, format, facts_.bfloatPairs)});
}

Value Distributor::blockValue(BlockTile &tile, int64_t number) {
  const SimtLayout &layout = tile.access.layout;
  Type type = cast<RankedTensorType>(tile.op.getResult().getType()).getElementType();
  if (isPadding(layout, number))
    return arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(type)));
  const BlockSteps &steps = tile.steps;
  const int last = layout.rank() - 1;
  SmallVector<int64_t> parts = layout.registerCoords(number);
  std::vector<int64_t> key(parts.begin(), parts.end());
  key[last] = key[last] * steps.per / steps.step;
  auto [found, isNew] = tile.known.try_emplace(key);
  if (isNew)
    found->second = blockElement(tile.access, number, steps);
  BlockElement element = found->second;
  element.fixed = static_cast<uint32_t>(parts[last] * steps.per % steps.step);
  return partOf(tile.reader, tile.format, tile.op.getField(), element);
}

// Whether a matmul whose subgroups have many accumulators each, or whose threads much of a unit,
// dequantizes the blocks itself, group by group, so that few of their elements are in registers at
// once.
static bool isDequantizedInTurn(BlockLoadOp op) {
  constexpr int64_t kMostPairs = 64;
  auto dot = op->hasOneUse() ? dyn_cast<GroupDotOp>(*op->user_begin()) : GroupDotOp();
  return dot && dot->getBlock() == op->getBlock() &&
         (dot.getBeside() > 1 || dot.getReading() ||
          SimtLayout::of(dot.getB().getType()).registers() > kMostPairs);
}

std::function<Value(int64_t)> Distributor::registersInTurn(Value tile) {
  if (auto found = registers_.find(tile); found != registers_.end())
    return [registers = found->second](int64_t number) { return registers[number]; };
  std::shared_ptr<BlockTile> blocks = blockTileOf(tile.getDefiningOp<BlockLoadOp>());
  return [this, blocks](int64_t number) { return blockValue(*blocks, number); };
}

LogicalResult Distributor::emitBlockValues(BlockLoadOp op, const BlockFormat &format) {
  const SimtView &view = views_.find(op.getView())->second;
  if (int64_t rows = view.type.getInterleave(); rows && rows != kWordRows)
    return op.emitOpError() << "reads " << rows << " rows of " << format.name
                            << " interleaved, expected them in the file's order or words of "
                            << kWordRows << " rows";
  if (isDequantizedInTurn(op))
    return success();
  std::shared_ptr<BlockTile> tile = blockTileOf(op);
  Registers registers;
  for (int64_t number = 0; number < tile->access.layout.registers(); ++number)
    registers.push_back(blockValue(*tile, number));
  registers_[op.getResult()] = std::move(registers);
  return success();
}

} // namespace sinter::sched
