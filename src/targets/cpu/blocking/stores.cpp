// Blocking, sinks: loops over the blocks of a value that end in a view, in scratch or in a
// reduction.
#include "targets/cpu/blocking/blocker.h"
#include "targets/cpu/emission/activation_blocks.h"
#include "targets/cpu/emission/reduction.h"

#include "numeric/formats/dot_packing.h"

#include <numeric>

using namespace mlir;

namespace sinter::targets::cpu {

// Vectors of one row that a stream computes at a time: enough to hide latency, few enough to stay
// in registers.
static constexpr int64_t kStreamVectors = 4;

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

// Elements that are rounded as one; 0: these are none.
static int64_t quantizedLength(RankedTensorType type) {
  const ActivationFormat *activation = tile::activationFormatOf(type.getElementType());
  return activation                                    ? activation->scaleLength
         : isa<tile::BlockType>(type.getElementType()) ? kActivationLength
                                                       : 0;
}

// Lanes run along the last axis that has more than one element.
SmallVector<int64_t> Blocker::streamStep(RankedTensorType type) {
  SmallVector<int64_t> step(type.getRank(), 1);
  int64_t lane = type.getRank() - 1;
  while (lane > 0 && type.getDimSize(lane) == 1)
    --lane;
  int64_t columns = type.getDimSize(lane), wide = facts_.lanes * kStreamVectors;
  step[lane] = columns >= wide ? wide : std::min(columns, facts_.lanes);
  if (int64_t length = quantizedLength(type))
    step[lane] = length;
  return step;
}

// The rows that a reshape joins, if the value's cone has one that is read in parts of these; 0: it
// has none.
int64_t Blocker::joinedRow(Value value) {
  llvm::SetVector<Value> cone;
  cone.insert(value);
  for (size_t at = 0; at < cone.size(); ++at) {
    Operation *op = cone[at].getDefiningOp();
    if (!op || scratch_.count(cone[at]))
      continue;
    if (auto reshape = dyn_cast<tile::ReshapeOp>(op); reshape && !isStreamable(reshape))
      return cast<RankedTensorType>(reshape.getValue().getType()).getShape().back();
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        cone.insert(operand);
  }
  return 0;
}

// Of values that are rounded: as many scales as are found side by side, of one row or else of
// several.
SmallVector<int64_t> Blocker::quantizeStep(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> step = streamStep(type);
  const int64_t last = type.getRank() - 1, length = step[last];
  const ActivationFormat *activation = tile::activationFormatOf(type.getElementType());
  if (!activation || activation->scaleLength != kActivationLength)
    return step;
  const int64_t together = scalesTogether(facts_.lanes), row = joinedRow(value);
  const int64_t columns =
      row ? std::gcd(row / length, together) : std::min(together, type.getDimSize(last) / length);
  step[last] = columns * length;
  if (!row && last > 0)
    step[last - 1] = std::min(together / columns, type.getDimSize(last - 1));
  return step;
}

// A reshape that joins whole rows is read in parts of one row, another that changes the innermost
// axis element by element.
SmallVector<int64_t> Blocker::streamStepOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto reshape = value.getDefiningOp<tile::ReshapeOp>();
  if (reshape && !isStreamable(reshape) && !scratch_.count(value)) {
    SmallVector<int64_t> step(type.getRank(), 1);
    int64_t row = cast<RankedTensorType>(reshape.getValue().getType()).getShape().back(),
            wide = streamStep(type).back();
    if (row == type.getShape().back())
      step.back() = wide;
    else if (type.getShape().back() % row == 0)
      step.back() = std::gcd(row, wide);
    return step;
  }
  return streamStep(type);
}

// The axes from the outermost loop in. Those that one step covers come first: whether it is taken
// is no question of the other axes' loops.
static SmallVector<int64_t> axesOf(RankedTensorType type, ArrayRef<int64_t> step) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  llvm::stable_sort(axes, [&](int64_t a, int64_t b) {
    return (type.getDimSize(a) <= step[a]) > (type.getDimSize(b) <= step[b]);
  });
  return axes;
}

// Walks the first of the axes: whole steps in a loop up to the trimmed extent, then what is left of
// the tile's own extent.
LogicalResult Blocker::blockAxes(Value value, ArrayRef<int64_t> axes, ArrayRef<int64_t> step,
                                 Block &block, BlockStore store) {
  if (axes.empty())
    return store(block);
  auto type = cast<RankedTensorType>(value.getType());
  const int64_t axis = axes.front();
  int64_t extentHere = type.getDimSize(axis), by = std::min(step[axis], extentHere);
  int64_t whole = extentHere / by * by;
  Value limit = extent(value, axis);
  auto body = [&](Value at, int64_t size) {
    block.offsets[axis] = at;
    block.shape[axis] = size;
    return blockAxes(value, axes.drop_front(), step, block, store);
  };
  if (whole == by && whole == extentHere && constantOf(limit))
    return body(index(0), by);
  Value end = limit;
  if (whole != extentHere)
    end = b_.createOrFold<arith::MinSIOp>(loc_, limit, index(whole));
  auto loop = scf::ForOp::create(b_, loc_, index(0), end, index(by));
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    if (failed(body(loop.getInductionVar(), by)))
      return failure();
  }
  int64_t rest = extentHere - whole, part = quantizedLength(type) ? rest : facts_.lanes;
  for (int64_t at = whole, size = std::min(rest, part); rest > 0;
       at += size, rest -= size, size = std::min(rest, part))
    if (failed(body(index(at), size)))
      return failure();
  return success();
}

LogicalResult Blocker::forEachBlock(Value value, ArrayRef<int64_t> step, BlockStore store) {
  auto type = cast<RankedTensorType>(value.getType());
  Block block{SmallVector<Value>(type.getRank()), SmallVector<int64_t>(type.getRank())};
  return blockAxes(value, axesOf(type, step), step, block, store);
}

// The longest block that the value's cone dequantizes along its last axis.
static int64_t longestDequantized(Value value) {
  llvm::SetVector<Value> cone;
  cone.insert(value);
  int64_t longest = 1;
  for (size_t at = 0; at < cone.size(); ++at) {
    longest = std::max(longest, dequantizedLength(cone[at]));
    if (Operation *op = cone[at].getDefiningOp(); op && op->hasTrait<OpTrait::Elementwise>())
      cone.insert(op->operand_begin(), op->operand_end());
  }
  return longest;
}

// As forEachBlock, but where blocks of a format are longer than a step, steps stand at known places
// of them.
LogicalResult Blocker::forEachPart(Value value, ArrayRef<int64_t> step, BlockStore store) {
  int64_t length = longestDequantized(value), part = step.back();
  if (length <= part || scratch_.count(value))
    return forEachBlock(value, step, store);
  SmallVector<int64_t> whole(step);
  whole.back() = length;
  return forEachBlock(value, whole, [&](const Block &block) {
    for (int64_t at = 0; at < block.shape.back(); at += part) {
      Block each = block;
      each.offsets.back() = add(block.offsets.back(), index(at));
      each.shape.back() = std::min(part, block.shape.back() - at);
      if (failed(store(each)))
        return failure();
    }
    return success();
  });
}

LogicalResult Blocker::storeToView(tile::StoreOp store) {
  Value value = store.getValue();
  auto type = cast<RankedTensorType>(value.getType());
  return forEachPart(value, quantizedLength(type) ? quantizeStep(value) : streamStepOf(value),
                     [&](const Block &block) { return storeBlock(store, block); });
}

LogicalResult Blocker::storeBlock(tile::StoreOp store, const Block &block) {
  FailureOr<Value> part = stream(store.getValue(), block);
  if (failed(part))
    return failure();
  SmallVector<Value> offsets;
  for (auto [base, offset] : llvm::zip_equal(store.getOffsets(), block.offsets))
    offsets.push_back(add(mapped(base), offset));
  tile::StoreOp::create(b_, loc_, *part, mapped(store.getView()), offsets);
  return success();
}

LogicalResult Blocker::storeInto(Value value, Value buffer) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> step = streamStepOf(value);
  if (layoutOf_.lookup(buffer).transposed) {
    // Lanes run along the first axis, which the buffer stores contiguously.
    step.assign(step.size(), 1);
    step.front() = std::min(type.getDimSize(0), facts_.lanes);
  }
  return forEachPart(value, step, [&](const Block &block) {
    FailureOr<Value> part = stream(value, block);
    if (failed(part))
      return failure();
    write(*part, buffer, block.offsets);
    return success();
  });
}

// A block of what a reduction walks, to the buffers of what it leaves.
void Blocker::leaveBlock(tile::ReduceOp reduce, Value numbers, const Block &block,
                         ArrayRef<Value> buffers) {
  for (auto [value, buffer] : llvm::zip_equal(walks_.leftBy(reduce), buffers)) {
    if (value == reduce.getValue()) {
      write(numbers, buffer, block.offsets);
      continue;
    }
    Block words = block;
    words.offsets.back() = divided(block.offsets.back(), 2);
    words.shape.back() /= 2;
    auto type = RankedTensorType::get(words.shape, b_.getI32Type());
    auto axis = static_cast<uint32_t>(words.shape.size() - 1);
    write(sched::PairOp::create(b_, loc_, type, numbers, axis), buffer, words.offsets);
  }
}

// Along the reduced axis, blocks accumulate lane by lane; a block's lanes then fold in
// tile.reduce's fixed tree.
LogicalResult Blocker::storeReduce(tile::ReduceOp reduce) {
  Value value = reduce.getValue(), result = reduce.getResult();
  auto type = cast<RankedTensorType>(value.getType());
  int64_t axis = reduce.getAxis(), length = type.getDimSize(axis);
  bool lanes = axis == type.getRank() - 1;
  Value buffer = allocate(cast<RankedTensorType>(result.getType()), {});
  ArrayRef<Value> left = walks_.leftBy(reduce);
  auto buffers = llvm::map_to_vector(left, [&](Value each) { return allocateFor(each); });
  SmallVector<int64_t> step = streamStep(cast<RankedTensorType>(result.getType()));
  if (lanes)
    step.assign(step.size(), 1); // the lanes of one row fill the registers
  int64_t by = lanes ? streamStep(type).back() : 1;
  // Words of two are whole vectors. Of so many numbers, whole ones, accumulators have the same
  // order.
  if (llvm::any_of(left, [](Value each) { return each.getDefiningOp<sched::PairOp>(); }))
    by = std::max(by, 2 * facts_.lanes);
  const tile::ReduceKind kind = facts_.instructions.ownMaximum && tile::isMax(reduce.getKind())
                                    ? tile::ReduceKind::Max
                                    : reduce.getKind();
  const bool byOrder = !facts_.instructions.ownMaximum && kind == tile::ReduceKind::Max &&
                       type.getElementType().isF32();
  Type element = byOrder ? Type(b_.getI32Type()) : type.getElementType();
  LogicalResult done = forEachBlock(result, step, [&](const Block &block) -> LogicalResult {
    auto part = [&](Value at, int64_t size) -> FailureOr<Value> {
      Block source = block;
      source.offsets[axis] = at;
      source.shape[axis] = size;
      FailureOr<Value> numbers = stream(value, source);
      if (failed(numbers))
        return failure();
      leaveBlock(reduce, *numbers, source, buffers);
      return byOrder ? toOrder(b_, loc_, *numbers) : *numbers;
    };
    Block shape = block;
    shape.shape[axis] = by;
    auto blockOf = RankedTensorType::get(shape.shape, element);
    auto loop = scf::ForOp::create(b_, loc_, index(0), index(length / by * by), index(by),
                                   ValueRange{neutral(b_, loc_, kind, blockOf)});
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPointToEnd(loop.getBody());
      FailureOr<Value> next = part(loop.getInductionVar(), by);
      if (failed(next))
        return failure();
      scf::YieldOp::create(b_, loc_,
                           ValueRange{combine(b_, loc_, kind, loop.getRegionIterArg(0), *next)});
    }
    auto resultType = RankedTensorType::get(block.shape, element);
    auto fold = [&](Value v) -> Value {
      return lanes ? tile::ReduceOp::create(b_, loc_, resultType, kind, v, axis).getResult() : v;
    };
    Value total = fold(loop.getResult(0));
    if (int64_t rest = length % by) {
      FailureOr<Value> tail = part(index(length - rest), rest);
      if (failed(tail))
        return failure();
      Value rests = *tail;
      if (kind == tile::ReduceKind::MaxAnyNan) // which leaves NaN out of what begins without
        rests = combine(b_, loc_, kind,
                        neutral(b_, loc_, kind, cast<RankedTensorType>(rests.getType())), rests);
      total = combine(b_, loc_, kind, total, fold(rests));
    }
    write(byOrder ? fromOrder(b_, loc_, total) : total, buffer, block.offsets);
    return success();
  });
  scratch_[result] = buffer;
  for (auto [each, filled] : llvm::zip_equal(left, buffers))
    scratch_[each] = filled;
  return done;
}

LogicalResult Blocker::storeConcat(tile::ConcatOp concat) {
  Value buffer = allocate(cast<RankedTensorType>(concat.getResult().getType()), {});
  int64_t start = 0;
  for (Value value : concat.getValues()) {
    auto type = cast<RankedTensorType>(value.getType());
    LogicalResult done = forEachPart(value, streamStep(type), [&](const Block &block) {
      FailureOr<Value> part = stream(value, block);
      if (failed(part))
        return failure();
      SmallVector<Value> offsets = block.offsets;
      offsets[concat.getAxis()] = add(offsets[concat.getAxis()], index(start));
      write(*part, buffer, offsets);
      return success();
    });
    if (failed(done))
      return failure();
    start += type.getDimSize(concat.getAxis());
  }
  scratch_[concat.getResult()] = buffer;
  return success();
}

} // namespace sinter::targets::cpu
