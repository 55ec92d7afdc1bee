// Distribution, block formats in the file's order: each thread dequantizes its own elements.
#include "sched/simt/distribute/block_reader.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/view_bounds.h"

#include <numeric>

using namespace mlir;

namespace sinter::sched {

namespace {
/// Where a tile of blocks begins: a multiple of `step` elements, a power of two of at most a block.
/// Below it elements differ by thread and register alone.
struct BlockSteps {
  int64_t step = 0;
  uint32_t threadBits = 0; // of elements along the last axis
};
} // namespace

static BlockSteps stepsOf(const SimtAccess &access, int64_t divisor) {
  const int last = access.layout.rank() - 1;
  BlockSteps steps{access.view.length};
  if (divisor)
    steps.step = std::min(steps.step, divisor & -divisor);
  for (LayoutBit bit : access.layout.threadBits())
    if (bit.axis == last && (int64_t(1) << bit.bit) < access.view.length)
      steps.threadBits |= 1u << bit.bit;
  return steps;
}

// The element of a register, of which `part` along the last axis is a multiple of `step`.
BlockElement Distributor::blockElement(SimtAccess &access, int64_t number, int64_t step,
                                       uint32_t threadBits) {
  const SimtView &view = access.view;
  const int last = access.layout.rank() - 1;
  const int64_t length = view.length;
  SmallVector<int64_t> parts = access.layout.registerCoords(number);
  const int64_t part = parts[last] / step * step;
  BlockElement element;
  element.when = inTile(access.layout, number);
  for (int axis = 0; axis < last; ++axis)
    element.when = both(element.when, insideAxis(access, axis, parts[axis]));
  Value thread = threadPart(access.layout)[last]; // i32
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
  element.byte = add(byteAt(access, number), mul(add(block, toIndex(more)), index(view.bytes)));
  element.mask =
      (threadBits & static_cast<uint32_t>(step - 1)) | static_cast<uint32_t>(length - step);
  if (element.mask)
    element.varying = b_.createOrFold<arith::AndIOp>(loc_, varying, int32(length - 1));
  return element;
}

LogicalResult Distributor::emitBlockValues(BlockLoadOp op, const BlockFormat &format) {
  const SimtView &view = views_.find(op.getView())->second;
  if (view.type.getInterleave())
    return op.emitOpError() << "reads rows of " << format.name
                            << " side by side, expected them in the file's order";
  SimtLayout layout = SimtLayout::of(op.getResult().getType());
  SimtAccess access = accessOf(view, op.getOffsets(), layout);
  const int last = layout.rank() - 1;
  const BlockSteps steps =
      stepsOf(access, std::gcd(view.originDivisor[last], divisorOf(op.getOffsets()[last])));
  BlockReader reader(b_, loc_, view.argument, format);
  std::map<std::vector<int64_t>, BlockElement> known; // by coordinates, in steps along blocks
  Registers registers;
  for (int64_t number = 0; number < layout.registers(); ++number) {
    if (isPadding(layout, number)) {
      registers.push_back(arith::ConstantOp::create(b_, loc_, b_.getF32FloatAttr(0)));
      continue;
    }
    SmallVector<int64_t> parts = layout.registerCoords(number);
    std::vector<int64_t> key(parts.begin(), parts.end());
    key[last] /= steps.step;
    auto [found, isNew] = known.try_emplace(key);
    if (isNew)
      found->second = blockElement(access, number, steps.step, steps.threadBits);
    BlockElement element = found->second;
    element.fixed = static_cast<uint32_t>(parts[last] % steps.step);
    registers.push_back(reader.value(element));
  }
  registers_[op.getResult()] = std::move(registers);
  return success();
}

} // namespace sinter::sched
