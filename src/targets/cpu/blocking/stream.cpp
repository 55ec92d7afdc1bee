// Blocking, streams: one register block of a value, computed from blocks of its operands.
#include "targets/cpu/blocking/blocker.h"

using namespace mlir;

namespace sinter::targets::cpu {

static RankedTensorType blockType(Value value, const Block &block) {
  return RankedTensorType::get(block.shape,
                               cast<RankedTensorType>(value.getType()).getElementType());
}

FailureOr<Value> Blocker::streamConstant(arith::ConstantOp op, const Block &block) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat())
    return op.emitOpError()
           << "is a tile of differing constants, expected one value: use iota or a view";
  auto type = blockType(op.getResult(), block);
  return arith::ConstantOp::create(b_, loc_, type, dense.resizeSplat(type)).getResult();
}

FailureOr<Value> Blocker::streamBroadcast(tile::BroadcastOp op, const Block &block) {
  auto from = cast<RankedTensorType>(op.getValue().getType());
  Block source = block;
  for (int64_t axis = 0; axis < from.getRank(); ++axis)
    if (from.getDimSize(axis) == 1) {
      source.offsets[axis] = index(0);
      source.shape[axis] = 1;
    }
  FailureOr<Value> value = stream(op.getValue(), source);
  if (failed(value) || source.shape == block.shape)
    return value;
  return tile::BroadcastOp::create(b_, loc_, blockType(op.getResult(), block), *value).getResult();
}

FailureOr<Value> Blocker::streamLoad(tile::LoadOp op, const Block &block) {
  SmallVector<Value> offsets;
  for (auto [base, offset] : llvm::zip_equal(op.getOffsets(), block.offsets))
    offsets.push_back(add(mapped(base), offset));
  return tile::LoadOp::create(b_, loc_, blockType(op.getResult(), block), mapped(op.getView()),
                              offsets, op.getPadAttr())
      .getResult();
}

FailureOr<Value> Blocker::streamIota(tile::IotaOp op, const Block &block) {
  auto type = blockType(op.getResult(), block);
  Value steps = tile::IotaOp::create(b_, loc_, type, op.getAxisAttr());
  Value start = block.offsets[op.getAxis()];
  if (!type.getElementType().isIndex())
    start = arith::IndexCastOp::create(b_, loc_, type.getElementType(), start);
  Value base = tile::SplatOp::create(b_, loc_, type, start);
  return arith::AddIOp::create(b_, loc_, steps, base).getResult();
}

// Offsets of the same elements in a shape with other axes of extent 1.
static Block withoutUnitAxes(const Block &block, RankedTensorType from, RankedTensorType to,
                             Value zero) {
  Block source;
  int64_t next = 0;
  for (int64_t axis = 0; axis < from.getRank(); ++axis) {
    if (from.getDimSize(axis) == 1) {
      source.offsets.push_back(zero);
      source.shape.push_back(1);
      continue;
    }
    while (to.getDimSize(next) == 1)
      ++next;
    source.offsets.push_back(block.offsets[next]);
    source.shape.push_back(block.shape[next++]);
  }
  return source;
}

// Part of a row that lies in one row of `from` too, found again by its row-major position there.
Block Blocker::relinearise(const Block &block, RankedTensorType from, RankedTensorType to) {
  const bool sameRows = from.getShape().back() == to.getShape().back();
  Value linear = index(0);
  for (int64_t axis = 0; axis + sameRows < to.getRank(); ++axis)
    linear = add(b_.createOrFold<arith::MulIOp>(loc_, linear, index(to.getDimSize(axis))),
                 block.offsets[axis]);
  Block source{SmallVector<Value>(from.getRank()), SmallVector<int64_t>(from.getRank(), 1)};
  source.offsets.back() = block.offsets.back();
  source.shape.back() = block.shape.back();
  for (int64_t axis = from.getRank() - 1 - sameRows; axis >= 0; --axis) {
    source.offsets[axis] =
        b_.createOrFold<arith::RemUIOp>(loc_, linear, index(from.getDimSize(axis)));
    linear = b_.createOrFold<arith::DivUIOp>(loc_, linear, index(from.getDimSize(axis)));
  }
  return source;
}

FailureOr<Value> Blocker::streamReshape(tile::ReshapeOp op, const Block &block) {
  auto from = cast<RankedTensorType>(op.getValue().getType());
  auto to = cast<RankedTensorType>(op.getResult().getType());
  Block source;
  if (isStreamable(op)) {
    source = withoutUnitAxes(block, from, to, index(0));
  } else {
    const int64_t row = from.getShape().back(), wide = block.shape.back();
    if (llvm::any_of(ArrayRef(block.shape).drop_back(), [](int64_t e) { return e != 1; }) ||
        (row != to.getShape().back() && row % wide != 0))
      return op.emitOpError() << "is read in blocks of several rows, expected one row at a time, "
                                 "or a part of one that lies in a row of what is reshaped";
    source = relinearise(block, from, to);
  }
  FailureOr<Value> value = stream(op.getValue(), source);
  if (failed(value))
    return failure();
  return tile::ReshapeOp::create(b_, loc_, blockType(op.getResult(), block), *value).getResult();
}

FailureOr<Value> Blocker::streamPermute(tile::PermuteOp op, const Block &block) {
  Block source{SmallVector<Value>(block.offsets.size()), SmallVector<int64_t>(block.shape.size())};
  for (auto [axis, from] : llvm::enumerate(op.getOrder())) {
    source.offsets[from] = block.offsets[axis];
    source.shape[from] = block.shape[axis];
  }
  FailureOr<Value> value = stream(op.getValue(), source);
  if (failed(value))
    return failure();
  return tile::PermuteOp::create(b_, loc_, blockType(op.getResult(), block), *value,
                                 op.getOrderAttr())
      .getResult();
}

FailureOr<Value> Blocker::streamSlice(tile::SliceOp op, const Block &block) {
  Block source = block;
  for (auto [offset, start] : llvm::zip_equal(source.offsets, op.getOffsets()))
    offset = add(offset, index(start));
  return stream(op.getValue(), source);
}

FailureOr<Value> Blocker::streamElementwise(Operation *op, const Block &block) {
  IRMapping operands;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      operands.map(operand, mapped(operand));
      continue;
    }
    FailureOr<Value> value = stream(operand, block);
    if (failed(value))
      return failure();
    operands.map(operand, *value);
  }
  Operation *clone = b_.cloneWithoutRegions(*op, operands);
  clone->getResult(0).setType(blockType(op->getResult(0), block));
  return clone->getResult(0);
}

FailureOr<Value> Blocker::streamPair(sched::PairOp op, const Block &block) {
  Block source = block;
  source.offsets[op.getAxis()] = multiplied(block.offsets[op.getAxis()], 2);
  source.shape[op.getAxis()] *= 2;
  FailureOr<Value> value = stream(op.getValue(), source);
  if (failed(value))
    return failure();
  return sched::PairOp::create(b_, loc_, blockType(op.getResult(), block), *value, op.getAxis())
      .getResult();
}

// What the value is modulo `modulus`, where that is the same in every program and trip.
static std::optional<int64_t> remainderOf(Value value, int64_t modulus) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue() % modulus;
  if (auto loop = dyn_cast_if_present<scf::ForOp>(value.getParentBlock()->getParentOp());
      loop && loop.getInductionVar() == value) {
    std::optional<int64_t> step = remainderOf(loop.getStep(), modulus);
    return step && *step == 0 ? remainderOf(loop.getLowerBound(), modulus) : std::nullopt;
  }
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    std::optional<int64_t> a = remainderOf(sum.getLhs(), modulus),
                           b = remainderOf(sum.getRhs(), modulus);
    return a && b ? std::optional((*a + *b) % modulus) : std::nullopt;
  }
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    for (Value factor : {product.getLhs(), product.getRhs()})
      if (remainderOf(factor, modulus) == 0)
        return 0;
  return std::nullopt;
}

// Part of a tile of whole blocks, which alone can be loaded, at a place known of its block.
FailureOr<Value> Blocker::streamDequantize(tile::DequantizeOp op, const Block &block) {
  int64_t length = dequantizedLength(op.getResult()), last = block.shape.size() - 1;
  if (block.shape[last] % length == 0)
    return streamElementwise(op, block);
  std::optional<int64_t> first = remainderOf(block.offsets[last], length);
  if (!first || *first + block.shape[last] > length)
    return op.emitOpError() << "is read in parts of " << block.shape[last]
                            << " elements of blocks of " << length
                            << ", expected each at one known place";
  Block whole = block;
  whole.offsets[last] = b_.createOrFold<arith::SubIOp>(loc_, block.offsets[last], index(*first));
  whole.shape[last] = length;
  FailureOr<Value> dequantized = stream(op.getResult(), whole);
  if (failed(dequantized))
    return failure();
  SmallVector<int64_t> start(block.shape.size(), 0);
  start[last] = *first;
  return tile::SliceOp::create(b_, loc_, blockType(op.getResult(), block), *dequantized,
                               b_.getDenseI64ArrayAttr(start))
      .getResult();
}

// Offsets and extents as numbers; equal constants are equal.
static std::vector<int64_t> placeKey(const Block &block) {
  std::vector<int64_t> key;
  for (Value offset : block.offsets) {
    APInt constant;
    bool fixed = matchPattern(offset, m_ConstantInt(&constant));
    key.push_back(fixed);
    key.push_back(fixed ? constant.getSExtValue()
                        : reinterpret_cast<intptr_t>(offset.getAsOpaquePointer()));
  }
  key.insert(key.end(), block.shape.begin(), block.shape.end());
  return key;
}

std::tuple<void *, void *, std::vector<int64_t>> Blocker::keyOf(Value value, const Block &block) {
  return {b_.getInsertionBlock(), value.getAsOpaquePointer(), placeKey(block)};
}

void Blocker::remember(Value value, const Block &block, Value part) {
  streamed_.emplace(keyOf(value, block), part);
}

// What is asked for twice at one place is computed once.
FailureOr<Value> Blocker::stream(Value value, const Block &block) {
  auto key = keyOf(value, block);
  if (auto found = streamed_.find(key); found != streamed_.end())
    return found->second;
  FailureOr<Value> made = streamOnce(value, block);
  if (succeeded(made))
    streamed_.emplace(std::move(key), *made);
  return made;
}

FailureOr<Value> Blocker::streamOnce(Value value, const Block &block) {
  if (Value buffer = scratch_.lookup(value))
    return read(buffer, block);
  Operation *op = value.getDefiningOp();
  if (!op)
    return emitError(value.getLoc()) << "tile argument has no place in scratch";
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return streamConstant(constant, block);
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return streamBroadcast(broadcast, block);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return streamLoad(load, block);
  if (auto iota = dyn_cast<tile::IotaOp>(op))
    return streamIota(iota, block);
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return tile::SplatOp::create(b_, loc_, blockType(value, block), mapped(splat.getValue()))
        .getResult();
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return streamReshape(reshape, block);
  if (auto permute = dyn_cast<tile::PermuteOp>(op))
    return streamPermute(permute, block);
  if (auto slice = dyn_cast<tile::SliceOp>(op))
    return streamSlice(slice, block);
  if (auto pair = dyn_cast<sched::PairOp>(op))
    return streamPair(pair, block);
  if (auto dequantize = dyn_cast<tile::DequantizeOp>(op))
    return streamDequantize(dequantize, block);
  if (op->hasTrait<OpTrait::Elementwise>() || isa<tile::QuantizeOp>(op))
    return streamElementwise(op, block);
  return op->emitOpError()
         << "has no form on a CPU yet: its result cannot be computed block by block";
}

} // namespace sinter::targets::cpu
