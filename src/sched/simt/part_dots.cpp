// Operands are made again for a part: loads of fewer elements, and what is computed of each alone.
#include "sched/simt/part_dots.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/opaque_dots.h"
#include "sched/simt/split_dots.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kPart = 64, kLeastPart = 32;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isElementwise(Operation *op) {
  return isa_and_present<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && op->getNumOperands() > 0;
}

/// Elements [start, start + length) of tiles along their last axis; a null start is 0.
class PartMaker {
public:
  PartMaker(OpBuilder &b, Value start, int64_t length) : b_(b), start_(start), length_(length) {}

  static bool canMake(Value tile) {
    Operation *maker = tile.getDefiningOp();
    if (!maker || tileType(tile).getRank() != 2)
      return false;
    auto canMakeAll = [](OperandRange values) { return llvm::all_of(values, canMake); };
    if (auto constant = dyn_cast<arith::ConstantOp>(maker))
      return isa<SplatElementsAttr>(constant.getValue());
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(maker))
      return isColumn(broadcast) || canMake(broadcast.getValue());
    if (auto concat = dyn_cast<tile::ConcatOp>(maker))
      return concat.getAxis() == 0 && canMakeAll(concat.getValues());
    return isa<tile::LoadOp, BlockLoadOp>(maker) ||
           (isElementwise(maker) && canMakeAll(maker->getOperands()));
  }

  Value make(Value tile) {
    Value &part = made_[tile];
    return part ? part : part = build(tile.getDefiningOp(), typeOf(tile));
  }

private:
  static bool isColumn(tile::BroadcastOp op) {
    return tileType(op.getValue()).getRank() == 2 && tileType(op.getValue()).getDimSize(1) == 1;
  }
  RankedTensorType typeOf(Value tile) const {
    return tileType(tile).clone({tileType(tile).getDimSize(0), length_});
  }
  SmallVector<Value> advanced(OperandRange offsets) {
    SmallVector<Value> at(offsets);
    if (start_)
      at.back() = b_.createOrFold<arith::AddIOp>(at.back().getLoc(), at.back(), start_);
    return at;
  }
  Value build(Operation *maker, RankedTensorType type);

  OpBuilder &b_;
  Value start_;
  int64_t length_;
  DenseMap<Value, Value> made_;
};

Value PartMaker::build(Operation *maker, RankedTensorType type) {
  Location loc = maker->getLoc();
  if (auto constant = dyn_cast<arith::ConstantOp>(maker)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    return arith::ConstantOp::create(b_, loc, splat.resizeSplat(type));
  }
  if (auto load = dyn_cast<tile::LoadOp>(maker))
    return tile::LoadOp::create(b_, loc, type, load.getView(), advanced(load.getOffsets()),
                                load.getPadAttr());
  if (auto load = dyn_cast<BlockLoadOp>(maker))
    return BlockLoadOp::create(b_, loc, type, load.getField(), load.getView(),
                               advanced(load.getOffsets()));
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(maker))
    return tile::BroadcastOp::create(
        b_, loc, type, isColumn(broadcast) ? broadcast.getValue() : make(broadcast.getValue()));
  IRMapping parts;
  for (Value operand : maker->getOperands())
    parts.map(operand, make(operand));
  Operation *part = b_.clone(*maker, parts);
  part->getResult(0).setType(type);
  return part->getResult(0);
}

// Whether b comes from blocks, past conversions and tiles side by side.
bool isDequantized(Value tile) {
  Operation *maker = tile.getDefiningOp();
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp, tile::ConcatOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  auto load = dyn_cast_or_null<BlockLoadOp>(maker);
  return load && load.getField() == "value";
}

// Both operands lie in shared memory, as f32 at most and with room between rows.
int64_t partOf(tile::DotOp dot, const SimtFacts &facts) {
  constexpr int64_t kPaddedPart = 16;
  const int64_t m = tileType(dot.getA()).getDimSize(0), n = tileType(dot.getB()).getDimSize(0);
  const bool opaque = takesOpaqueInstruction(dot, facts);
  auto bytesOf = [&](int64_t part) {
    return opaque ? opaqueSharedBytes(m, n, part)
                  : (m + n) * (part + part / kPaddedPart) * static_cast<int64_t>(sizeof(float));
  };
  int64_t part = kPart;
  while (part > kLeastPart && bytesOf(part) > facts.maxShared)
    part /= 2;
  return part;
}

void eraseUnused(Value tile) {
  Operation *maker = tile.getDefiningOp();
  if (!maker || !maker->use_empty())
    return;
  SmallVector<Value> operands(maker->getOperands());
  maker->erase();
  for (Value operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      eraseUnused(operand);
}

// What operands are made of in the matmul's block, scalars left out.
DenseSet<Operation *> makersOf(tile::DotOp dot) {
  DenseSet<Operation *> makers;
  SmallVector<Value> work{dot.getA(), dot.getB()};
  while (!work.empty()) {
    Operation *maker = work.pop_back_val().getDefiningOp();
    if (maker && maker->getBlock() == dot->getBlock() && makers.insert(maker).second)
      for (Value operand : maker->getOperands())
        if (isa<RankedTensorType>(operand.getType()))
          work.push_back(operand);
  }
  return makers;
}

// The loop around a matmul that may take shorter steps instead: its counter is where loads of the
// operands begin along K, and nothing else; null where it is more.
scf::ForOp loopAlongK(tile::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!loop || getConstantIntValue(loop.getStep()) != tileType(dot.getA()).getDimSize(1))
    return {};
  const DenseSet<Operation *> makers = makersOf(dot);
  Value counter = loop.getInductionVar();
  auto beginsAt = [&](OperandRange offsets) {
    return !offsets.empty() && offsets.back() == counter &&
           !llvm::is_contained(offsets.drop_back(), counter);
  };
  for (Operation *user : counter.getUsers()) {
    auto load = dyn_cast<tile::LoadOp>(user);
    auto blocks = dyn_cast<BlockLoadOp>(user);
    if (!makers.contains(user) || !(load     ? beginsAt(load.getOffsets())
                                    : blocks ? beginsAt(blocks.getOffsets())
                                             : false))
      return {};
  }
  for (Operation *maker : makers)
    for (Operation *user : maker->getUsers())
      if (user != dot && !makers.contains(user))
        return {};
  return loop;
}

// Steps of a part each take the place of the loop's own.
void shortenSteps(scf::ForOp loop, tile::DotOp dot, int64_t part) {
  OpBuilder b(dot);
  PartMaker parts(b, Value(), part);
  Value a = parts.make(dot.getA()), right = parts.make(dot.getB());
  Value sum = tile::DotOp::create(b, dot.getLoc(), dot.getResult().getType(), a, right,
                                  dot.getAcc(), /*transposeB=*/true);
  b.setInsertionPoint(loop);
  loop.setStep(arith::ConstantIndexOp::create(b, loop.getLoc(), part));
  dot.getResult().replaceAllUsesWith(sum);
  SmallVector<Value> operands{dot.getA(), dot.getB()};
  dot.erase();
  llvm::for_each(operands, eraseUnused);
}

void makeParts(tile::DotOp dot, int64_t part) {
  OpBuilder b(dot);
  Location loc = dot.getLoc();
  auto index = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v).getResult(); };
  const int64_t k = tileType(dot.getA()).getDimSize(1);
  auto loop = scf::ForOp::create(b, loc, index(0), index(k), index(part), dot.getAcc());
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b.setInsertionPointToEnd(loop.getBody());
  PartMaker parts(b, loop.getInductionVar(), part);
  Value a = parts.make(dot.getA()), right = parts.make(dot.getB());
  Value sum = tile::DotOp::create(b, loc, dot.getResult().getType(), a, right,
                                  loop.getRegionIterArg(0), /*transposeB=*/true);
  scf::YieldOp::create(b, loc, sum);
  dot.getResult().replaceAllUsesWith(loop.getResult(0));
  SmallVector<Value> operands{dot.getA(), dot.getB()};
  dot.erase();
  llvm::for_each(operands, eraseUnused);
}

} // namespace

void partDots(tile::KernelOp kernel, const SimtFacts &facts) {
  SmallVector<std::pair<tile::DotOp, int64_t>> work;
  kernel.walk([&](tile::DotOp dot) {
    if (!dot.getTransposeB() || hasSmallM(dot) || multipliesGroups(dot, facts) ||
        !isDequantized(dot.getB()))
      return;
    const int64_t part = partOf(dot, facts), k = tileType(dot.getA()).getDimSize(1);
    if (k > part && k % part == 0 && PartMaker::canMake(dot.getA()) &&
        PartMaker::canMake(dot.getB()))
      work.emplace_back(dot, part);
  });
  for (auto [dot, part] : work) {
    // One loop, whose pipelines go on from one of the longer steps to the next.
    const bool pipelined =
        facts.asyncCopies || takesOpaqueInstruction(dot, facts) || hasInstruction(dot, facts);
    if (scf::ForOp loop = pipelined ? loopAlongK(dot) : scf::ForOp())
      shortenSteps(loop, dot, part);
    else
      makeParts(dot, part);
  }
}

} // namespace sinter::sched
