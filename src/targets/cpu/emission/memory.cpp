// Emission, memory: addresses, bounds and masks of views; blocks of scratch.
#include "sched/view_bounds.h"
#include "targets/cpu/blocking/block.h"
#include "targets/cpu/emission/emitter.h"

using namespace mlir;

namespace sinter::targets::cpu {

Value Emitter::pointer(Value base, Value elements, Type element) {
  Value offset = arith::IndexCastOp::create(b_, loc_, b_.getI64Type(), elements);
  return LLVM::GEPOp::create(b_, loc_, base.getType(), element, base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

void Emitter::emitWindow(tile::WindowOp op) {
  EmittedView view = views_.find(op.getView())->second;
  view.type = op.getResult().getType();
  for (auto [axis, origin] : llvm::enumerate(scalarsOf(op.getOrigins()))) {
    view.low[axis] = sched::lowOfWindow(b_, loc_, view.low[axis], origin);
    Value left = b_.createOrFold<arith::SubIOp>(loc_, view.dims[axis], origin);
    left = b_.createOrFold<arith::MinSIOp>(loc_, left, scalarOf(op.getExtents()[axis]));
    // An extent below 0 is one of 0: bounds are compared without signs.
    view.dims[axis] = b_.createOrFold<arith::MaxSIOp>(loc_, left, index(0));
    view.origin[axis] = add(view.origin[axis], origin);
  }
  views_[op.getResult()] = view;
}

void Emitter::emitGather(tile::GatherOp op) {
  const EmittedView &pages = views_.find(op.getPages())->second;
  const EmittedView &indices = views_.find(op.getIndex())->second;
  EmittedView view{op.getResult().getType(),
                   pages.base,
                   {},
                   {},
                   {},
                   {},
                   {},
                   {},
                   {},
                   op.getPages().getType().getShape()[1],
                   op.getByRow()};
  view.pageIndex =
      pointer(indices.base, mul(indices.origin[0], indices.strides[0]), b_.getI32Type());
  view.pageCount = pages.dims[0];
  view.rowStride = pages.strides[1];
  Value low = indices.low[0];
  view.low.push_back(low && !view.byRow ? mul(low, index(view.pageRows)) : low);
  view.dims.push_back(view.byRow ? indices.dims[0] : mul(indices.dims[0], index(view.pageRows)));
  view.origin.push_back(index(0));
  view.strides.push_back(pages.strides[0]);
  for (int64_t axis = 2; axis < pages.type.getRank(); ++axis) {
    view.low.push_back(pages.low[axis]);
    view.dims.push_back(pages.dims[axis]);
    view.origin.push_back(pages.origin[axis]);
    view.strides.push_back(pages.strides[axis]);
  }
  views_[op.getResult()] = view;
}

// Lanes run along the contiguous axis where the block has several elements there, else along any
// axis that fills a vector, element by element.
int64_t Emitter::laneAxis(const EmittedView &view, ArrayRef<int64_t> shape) {
  int64_t lane = view.type.getContiguousAxis();
  if (lane >= 0 && shape[lane] > 1)
    return lane;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis)
    if (shape[axis] >= facts_.lanes &&
        !(axis == 0 && (view.pageIndex || view.type.getInterleave())))
      return axis;
  return -1;
}

// Whether that many rows from a coordinate on are known to be of one group of packed rows.
bool Emitter::liesInOneGroup(const EmittedView &view, Value at, int64_t rows) {
  int64_t divisor = std::gcd(sched::divisorOf(at), sched::divisorOf(view.origin[0]));
  return std::gcd(divisor, view.type.getInterleave()) >= rows;
}

// Elements from a place's pointer to each lane's.
Value Emitter::laneOffsets(const Place &place, int64_t count) {
  auto type = VectorType::get({count}, b_.getI64Type());
  auto each = [&](Value scalar) {
    Value wide = arith::IndexCastOp::create(b_, loc_, b_.getI64Type(), scalar);
    return vector::BroadcastOp::create(b_, loc_, type, wide).getResult();
  };
  SmallVector<int64_t> lanes(llvm::to_vector(llvm::seq<int64_t>(0, count)));
  Value steps = arith::ConstantOp::create(b_, loc_, DenseIntElementsAttr::get(type, lanes));
  if (!place.inGroup)
    return arith::MulIOp::create(b_, loc_, steps, each(place.laneStride));
  Value first = each(place.inGroup), rows = each(place.rowsOfGroup);
  Value row = arith::AddIOp::create(b_, loc_, steps, first);
  Value group = arith::DivUIOp::create(b_, loc_, row, rows);
  Value offset = arith::MulIOp::create(b_, loc_, group, each(place.groupStride));
  offset = arith::AddIOp::create(b_, loc_, offset, arith::RemUIOp::create(b_, loc_, row, rows));
  return arith::SubIOp::create(b_, loc_, offset, first);
}

// One pointer per lane.
Value Emitter::lanePointers(const Place &place, Type element, int64_t count) {
  auto pointers = VectorType::get({count}, place.pointer.getType());
  return LLVM::GEPOp::create(b_, loc_, pointers, element, place.pointer,
                             ArrayRef<LLVM::GEPArg>{laneOffsets(place, count)});
}

static Value andOf(OpBuilder &b, Location loc, Value a, Value c) {
  return a ? b.createOrFold<arith::AndIOp>(loc, a, c) : c;
}

Value Emitter::isWithin(const EmittedView &view, int64_t axis, Value at) {
  return sched::isWithin(b_, loc_, at, view.low[axis], view.dims[axis]);
}

// Elements from a coordinate on that lie before the view; null where there are none.
Value Emitter::beforeView(const EmittedView &view, int64_t axis, Value at) {
  Value low = view.low[axis];
  if (!low && sched::isNotNegative(at))
    return {};
  return b_.createOrFold<arith::SubIOp>(loc_, low ? low : index(0), at);
}

// Page and row of a gathered view's row; the page is out of range where the row's number is.
std::pair<Value, Value> Emitter::gatheredRow(const EmittedView &view, Value at, Value where) {
  Value rows = index(view.pageRows);
  Value entry = view.byRow ? where : b_.createOrFold<arith::DivUIOp>(loc_, where, rows);
  Value inside = isWithin(view, 0, at);
  Value safe = arith::SelectOp::create(b_, loc_, inside, entry, index(0));
  Value from = arith::SelectOp::create(b_, loc_, inside, view.pageIndex, scratch_);
  Value number =
      LLVM::LoadOp::create(b_, loc_, b_.getI32Type(), pointer(from, safe, b_.getI32Type()), 4);
  number = arith::IndexCastOp::create(b_, loc_, b_.getIndexType(), number);
  if (!view.byRow)
    return {number, b_.createOrFold<arith::RemUIOp>(loc_, where, rows)};
  return {b_.createOrFold<arith::DivUIOp>(loc_, number, rows),
          b_.createOrFold<arith::RemUIOp>(loc_, number, rows)};
}

// Where a row of packed ones lies: ((r / R) * row stride + k) * R + r mod R at column k. `place`
// says how its lanes find theirs where they are of several groups.
Value Emitter::packedRow(const EmittedView &view, Value where, bool oneGroup, Place &place) {
  Value rows = index(view.type.getInterleave()), stride = mul(view.strides[0], rows);
  if (oneGroup)
    return add(mul(b_.createOrFold<arith::DivUIOp>(loc_, where, rows), stride),
               b_.createOrFold<arith::RemUIOp>(loc_, where, rows));
  // Those before the view count from 0 too.
  place.inGroup = b_.createOrFold<arith::RemSIOp>(loc_, where, rows);
  place.groupStride = stride;
  place.rowsOfGroup = rows;
  return add(mul(b_.createOrFold<arith::DivSIOp>(loc_, where, rows), stride), place.inGroup);
}

Emitter::Place Emitter::placeOf(const EmittedView &view, ArrayRef<Value> at, int64_t lane,
                                int64_t width) {
  Place place;
  Value linear = index(0), along = index(0); // where the row begins; in it
  int64_t interleave = view.type.getInterleave();
  bool oneGroup = lane != 0 || width == 1 || liesInOneGroup(view, at[0], width);
  for (int64_t axis = 0; axis < view.type.getRank(); ++axis) {
    if (axis == lane) {
      place.remaining = b_.createOrFold<arith::SubIOp>(loc_, view.dims[axis], at[axis]);
      place.before = beforeView(view, axis, at[axis]);
    } else {
      place.valid = andOf(b_, loc_, place.valid, isWithin(view, axis, at[axis]));
    }
    Value where = add(at[axis], view.origin[axis]);
    if (interleave) {
      linear = add(linear, axis == 0 ? packedRow(view, where, oneGroup, place)
                                     : mul(where, index(interleave)));
      continue;
    }
    if (axis > 0 || !view.pageIndex) {
      Value &sum = axis == lane ? along : linear;
      sum = add(sum, mul(where, view.strides[axis]));
      continue;
    }
    auto [page, row] = gatheredRow(view, at[axis], where);
    Value exists = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult, page, view.pageCount);
    place.valid = andOf(b_, loc_, place.valid, exists);
    linear = add(linear, add(mul(page, view.strides[0]), mul(row, view.rowStride)));
  }
  if (lane >= 0 && lane != view.type.getContiguousAxis())
    place.laneStride = interleave ? index(interleave) : view.strides[lane];
  place.elements = add(linear, along);
  if (isa<tile::BlockType>(view.type.getElementType()))
    return place;
  // What no lane reads lies where memory is: pages that nobody has written yet are not there, and
  // processors take long to find that a mask hides the fault (the last page of keys half empty: 43
  // us a launch of SmolLM2's attention instead of 9). One choice serves all vectors of a row.
  place.anywhere = pointer(view.base, place.elements, view.type.getElementType());
  place.pointer = place.anywhere;
  if (place.valid) {
    Value safe = arith::SelectOp::create(b_, loc_, place.valid, linear, index(0));
    place.pointer = pointer(view.base, add(safe, along), view.type.getElementType());
  }
  return place;
}

Value Emitter::maskOf(const Place &place, int64_t count) {
  auto type = VectorType::get({count}, b_.getI32Type());
  SmallVector<int32_t> lanes(llvm::to_vector(llvm::seq<int32_t>(0, count)));
  Value steps = arith::ConstantOp::create(b_, loc_, DenseIntElementsAttr::get(type, lanes));
  Value left = place.remaining ? place.remaining : index(count);
  left = b_.createOrFold<arith::MinSIOp>(loc_, left, index(count));
  left = b_.createOrFold<arith::MaxSIOp>(loc_, left, index(0));
  if (place.valid)
    left = arith::SelectOp::create(b_, loc_, place.valid, left, index(0));
  auto holds = [&](arith::CmpIPredicate predicate, Value bound) {
    Value narrow = arith::IndexCastOp::create(b_, loc_, b_.getI32Type(), bound);
    Value limit = vector::BroadcastOp::create(b_, loc_, type, narrow);
    return arith::CmpIOp::create(b_, loc_, predicate, steps, limit).getResult();
  };
  Value mask = holds(arith::CmpIPredicate::slt, left);
  if (!place.before)
    return mask;
  Value before = b_.createOrFold<arith::MinSIOp>(loc_, place.before, index(count));
  before = b_.createOrFold<arith::MaxSIOp>(loc_, before, index(0));
  return arith::AndIOp::create(b_, loc_, mask, holds(arith::CmpIPredicate::sge, before));
}

static Value padValue(OpBuilder &b, Location loc, Type element, TypedAttr pad) {
  return arith::ConstantOp::create(b, loc, pad ? pad : cast<TypedAttr>(b.getZeroAttr(element)));
}

// Whether all lanes lie inside; null where there is nothing to ask.
Value Emitter::insideOf(const Place &place, int64_t count) {
  if (!place.remaining)
    return place.valid;
  auto compared = [&](arith::CmpIPredicate predicate, Value elements, int64_t with) {
    return b_.createOrFold<arith::CmpIOp>(loc_, predicate, elements, index(with));
  };
  Value inside =
      andOf(b_, loc_, place.valid, compared(arith::CmpIPredicate::sge, place.remaining, count));
  return place.before
             ? andOf(b_, loc_, inside, compared(arith::CmpIPredicate::sle, place.before, 0))
             : inside;
}

Value Emitter::loadScalar(const Place &place, Type element, TypedAttr pad) {
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  Value inside = insideOf(place, 1);
  if (!inside)
    return LLVM::LoadOp::create(b_, loc_, element, place.pointer, bytes);
  Value from = arith::SelectOp::create(b_, loc_, inside, place.pointer, scratch_);
  Value loaded = LLVM::LoadOp::create(b_, loc_, element, from, bytes);
  return arith::SelectOp::create(b_, loc_, inside, loaded, padValue(b_, loc_, element, pad));
}

// Where masks cost a branch a lane, one branch takes whole vectors past them.
Value Emitter::loadPiece(const Place &place, Type element, int64_t count, TypedAttr pad) {
  if (count == 1)
    return loadScalar(place, element, pad);
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  auto type = VectorType::get({count}, element);
  bool neighbours = !place.laneStride && !place.inGroup;
  if (neighbours && !place.valid && !place.remaining)
    return LLVM::LoadOp::create(b_, loc_, type, place.pointer, bytes);
  Value through = vector::BroadcastOp::create(b_, loc_, type, padValue(b_, loc_, element, pad));
  if (!neighbours)
    return LLVM::masked_gather::create(b_, loc_, type, lanePointers(place, element, count),
                                       maskOf(place, count), ValueRange{through},
                                       static_cast<uint32_t>(bytes));
  auto masked = [&]() -> Value {
    return LLVM::MaskedLoadOp::create(b_, loc_, type, place.pointer, maskOf(place, count), through,
                                      static_cast<uint32_t>(bytes));
  };
  if (facts_.instructions.hasMasks(element.getIntOrFloatBitWidth()))
    return masked();
  auto branch = scf::IfOp::create(b_, loc_, type, insideOf(place, count), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  Value whole = LLVM::LoadOp::create(b_, loc_, type, place.pointer, bytes);
  scf::YieldOp::create(b_, loc_, whole);
  b_.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b_, loc_, masked());
  return branch.getResult(0);
}

void Emitter::storePlain(const Place &place, Value value) {
  int64_t bytes =
      llvm::divideCeil(getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth(), 8);
  LLVM::StoreOp::create(b_, loc_, value, place.pointer, bytes);
}

void Emitter::storePiece(const Place &place, Value value, int64_t count) {
  Type element = getElementTypeOrSelf(value.getType());
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (place.laneStride && count > 1) {
    LLVM::masked_scatter::create(b_, loc_, value, lanePointers(place, element, count),
                                 maskOf(place, count), static_cast<uint32_t>(bytes));
    return;
  }
  auto masked = [&] {
    LLVM::MaskedStoreOp::create(b_, loc_, value, place.pointer, maskOf(place, count), bytes);
  };
  if (count > 1 && facts_.instructions.hasMasks(element.getIntOrFloatBitWidth()) &&
      (place.valid || place.remaining))
    return masked();
  Value inside = insideOf(place, count);
  if (!inside)
    return storePlain(place, value);
  auto branch = scf::IfOp::create(b_, loc_, inside, /*withElseRegion=*/count > 1);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(branch.thenBlock());
  storePlain(place, value);
  if (count == 1)
    return;
  b_.setInsertionPointToStart(branch.elseBlock());
  masked();
}

LogicalResult Emitter::emitLoad(tile::LoadOp op) {
  const EmittedView &view = views_.find(op.getView())->second;
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (isa<tile::BlockType>(type.getElementType()))
    return success(); // read by the dot or dequantize that uses it
  int64_t lane = laneAxis(view, type.getShape());
  SmallVector<Value> offsets = scalarsOf(op.getOffsets());
  auto pad = dyn_cast_if_present<TypedAttr>(op.getPadAttr());
  auto loaded = [&](bool inside) {
    SmallVector<Value> values;
    forEachPlace(view, offsets, type.getShape(), lane, inside, [&](Place place, int64_t width) {
      if (op->hasAttr(kRowsInside) && lane == 0 && !place.before)
        place.remaining = {};
      values.push_back(loadPiece(place, type.getElementType(), width, pad));
    });
    return values;
  };
  Value inside = insideOf(view, offsets, type.getShape(), lane);
  auto vectors = type.getNumElements() / facts_.lanes;
  SmallVector<Type> types(inside ? vectors : 0, pieceType(type.getElementType(), facts_.lanes));
  SmallVector<Value> values = branched(inside, types, loaded);
  tiles_[op.getResult()] =
      Pieces{SmallVector<int64_t>(type.getShape()), lane, false, std::move(values)};
  return success();
}

// The places of a block's pieces; `inside`: nothing of them lies beyond the view.
void Emitter::forEachPlace(const EmittedView &view, ArrayRef<Value> offsets,
                           ArrayRef<int64_t> shape, int64_t lane, bool inside,
                           llvm::function_ref<void(Place, int64_t)> f) {
  forEachPiece(shape, lane, [&](ArrayRef<int64_t> at, int64_t width) {
    SmallVector<Value> where;
    for (auto [offset, step] : llvm::zip_equal(offsets, at))
      where.push_back(add(offset, index(step)));
    Place place = placeOf(view, where, lane, width);
    if (inside) {
      place.pointer = place.anywhere;
      place.valid = place.remaining = place.before = {};
    }
    f(place, width);
  });
}

// Whether a block of several rows of whole vectors lies in its view, which one branch asks for all
// of it: masks take as long as the accesses (prompts of iq4_xs: 0.6 %). Null for other blocks.
Value Emitter::insideOf(const EmittedView &view, ArrayRef<Value> offsets, ArrayRef<int64_t> shape,
                        int64_t lane) {
  bool rows = lane >= 0 && lane == view.type.getContiguousAxis() &&
              shape[lane] % facts_.lanes == 0 && llvm::product_of(shape) > shape[lane];
  if (!rows || view.pageIndex || view.type.getInterleave())
    return {};
  Value inside;
  for (auto [axis, offset] : llvm::enumerate(offsets))
    for (Value at : {offset, add(offset, index(shape[axis] - 1))})
      inside = andOf(b_, loc_, inside, isWithin(view, axis, at));
  return inside;
}

// What `emit` gives, by a branch: once where `inside` holds and once where it does not. Null: it is
// not known to hold.
SmallVector<Value> Emitter::branched(Value inside, TypeRange types,
                                     llvm::function_ref<SmallVector<Value>(bool inside)> emit) {
  if (!inside)
    return emit(false);
  auto branch = scf::IfOp::create(b_, loc_, types, inside, /*withElseRegion=*/true);
  for (bool holds : {true, false}) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(holds ? branch.thenBlock() : branch.elseBlock());
    SmallVector<Value> values = emit(holds);
    if (!types.empty())
      scf::YieldOp::create(b_, loc_, values);
  }
  return llvm::to_vector_of<Value>(branch.getResults());
}

LogicalResult Emitter::emitLoadScalar(tile::LoadScalarOp op) {
  const EmittedView &view = views_.find(op.getView())->second;
  Place place = placeOf(view, scalarsOf(op.getOffsets()), -1, 1);
  map_.map(op.getResult(), loadPiece(place, op.getResult().getType(), 1, {}));
  return success();
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  const EmittedView &view = views_.find(op.getView())->second;
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (isa<tile::BlockType>(type.getElementType())) {
    if (auto quantize = op.getValue().getDefiningOp<tile::QuantizeOp>())
      return storeQuantized(op, quantize);
    return op.emitOpError() << "stores " << type << ", expected a tile that tile.quantize made";
  }
  int64_t lane = laneAxis(view, type.getShape());
  SmallVector<Value> offsets = scalarsOf(op.getOffsets());
  Pieces pieces = relayout(tiles_.find(op.getValue())->second, lane);
  auto stored = [&](bool inside) {
    size_t next = 0;
    forEachPlace(view, offsets, type.getShape(), lane, inside, [&](Place place, int64_t width) {
      storePiece(place, pieces.values[next++], width);
    });
    return SmallVector<Value>();
  };
  (void)branched(insideOf(view, offsets, type.getShape(), lane), {}, stored);
  return success();
}

Value Emitter::bufferPointer(Value buffer, ArrayRef<Value> offsets, ArrayRef<int64_t> at) {
  auto type = cast<sched::BufferType>(buffer.getType());
  Value linear = index(0);
  int64_t fixed = 0;
  for (auto [offset, step, stride] : llvm::zip_equal(offsets, at, type.getStrides())) {
    linear = add(linear, mul(offset, index(stride)));
    fixed += step * stride;
  }
  int64_t bytes = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  Value base = LLVM::GEPOp::create(
      b_, loc_, scratch_.getType(), b_.getI8Type(), scratch_,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(scratchOffset_.lookup(buffer) + fixed * bytes)});
  return pointer(base, linear, type.getElementType());
}

static int64_t bufferLane(sched::BufferType type, ArrayRef<int64_t> shape) {
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis)
    if (type.getStrides()[axis] == 1 && shape[axis] > 1)
      return axis;
  return -1;
}

// One register of a block of scratch.
Value Emitter::readPiece(sched::ReadOp op, ArrayRef<int64_t> at, int64_t width) {
  Place place;
  place.pointer = bufferPointer(op.getBuffer(), scalarsOf(op.getOffsets()), at);
  return loadPiece(place, cast<RankedTensorType>(op.getType()).getElementType(), width, {});
}

LogicalResult Emitter::emitRead(sched::ReadOp op) {
  if (sched::isReadAsPanel(op.getResult()))
    return success(); // register by register where they are multiplied
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto buffer = cast<sched::BufferType>(op.getBuffer().getType());
  int64_t lane = bufferLane(buffer, type.getShape());
  Pieces pieces{SmallVector<int64_t>(type.getShape()), lane, false, {}};
  forEachPiece(type.getShape(), lane, [&](ArrayRef<int64_t> at, int64_t width) {
    pieces.values.push_back(readPiece(op, at, width));
  });
  tiles_[op.getResult()] = pieces;
  return success();
}

LogicalResult Emitter::emitWrite(sched::WriteOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  auto buffer = cast<sched::BufferType>(op.getBuffer().getType());
  int64_t lane = bufferLane(buffer, type.getShape());
  SmallVector<Value> offsets = scalarsOf(op.getOffsets());
  Pieces pieces = relayout(tiles_.find(op.getValue())->second, lane);
  int64_t bytes = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  size_t next = 0;
  forEachPiece(type.getShape(), lane, [&](ArrayRef<int64_t> at, int64_t) {
    LLVM::StoreOp::create(b_, loc_, pieces.values[next++],
                          bufferPointer(op.getBuffer(), offsets, at), bytes);
  });
  return success();
}

void Emitter::emitPrefetchAt(Value pointer, int32_t cache) {
  LLVM::Prefetch::create(b_, loc_, pointer, /*rw=*/0, /*hint=*/cache, /*cache=*/1);
}

// The blocks of interleaved rows, which begin with the first row of a group. Few lines go
// to the first cache, which is a little faster (kExpandPrefetch); many wait for its few buffers,
// and loads with them (1B Q6_K on a Zen 4, 108 lines: 1.015 of the time).
static constexpr int64_t kMostLinesIntoFirstCache = 20;

void Emitter::emitPrefetchBlocks(sched::PrefetchOp op, const EmittedView &view) {
  const BlockFormat *format = tile::blockFormatOf(view.type.getElementType());
  int64_t interleave = view.type.getInterleave();
  if (!format || !interleave)
    return;
  int64_t bytes = op.getExtents()[1] / format->blockLength * format->blockBytes * interleave;
  int64_t lines = op.getExtents()[0] / interleave * llvm::divideCeil(bytes, kLineBytes);
  const int32_t cache = lines > kMostLinesIntoFirstCache ? kSecondCache : kFirstCache;
  SmallVector<Value> offsets = scalarsOf(op.getOffsets());
  for (int64_t row = 0; row < op.getExtents()[0]; row += interleave) {
    Place place = placeOf(view, {add(offsets[0], index(row)), offsets[1]}, -1, 1);
    Value number = arith::DivUIOp::create(b_, loc_, place.elements, index(format->blockLength));
    Value first = bytesAt(view.base, mul(number, index(format->blockBytes)));
    for (int64_t line = 0; line < bytes; line += kLineBytes)
      emitPrefetchAt(bytesAt(first, index(line)), cache);
  }
}

// One instruction for each line. Rows of gathered and strided views have no known neighbours.
void Emitter::emitPrefetch(sched::PrefetchOp op) {
  SmallVector<Value> offsets = scalarsOf(op.getOffsets());
  SmallVector<int64_t> steps(offsets.size(), 1);
  auto forEachLine = [&](llvm::function_ref<void(ArrayRef<int64_t>)> f) {
    SmallVector<int64_t> at(steps.size(), 0);
    for (bool more = true; more;) {
      f(at);
      more = false;
      for (int64_t axis = at.size() - 1; axis >= 0 && !more; --axis) {
        at[axis] += steps[axis];
        more = at[axis] < op.getExtents()[axis];
        at[axis] = more ? at[axis] : 0;
      }
    }
  };
  auto perLine = [](Type element) { return kLineBytes * 8 / element.getIntOrFloatBitWidth(); };
  if (auto buffer = dyn_cast<sched::BufferType>(op.getMemory().getType())) {
    for (auto [step, stride] : llvm::zip_equal(steps, buffer.getStrides()))
      step = stride == 1 ? perLine(buffer.getElementType()) : 1;
    return forEachLine([&](ArrayRef<int64_t> at) {
      emitPrefetchAt(bufferPointer(op.getMemory(), offsets, at), kFirstCache);
    });
  }
  const EmittedView &view = views_.find(op.getMemory())->second;
  int64_t lane = view.type.getContiguousAxis(), interleave = view.type.getInterleave();
  if (isa<tile::BlockType>(view.type.getElementType()))
    return emitPrefetchBlocks(op, view);
  if (view.pageIndex || lane < 0)
    return;
  steps[lane] = perLine(view.type.getElementType());
  if (interleave) {
    steps[1] = std::max<int64_t>(1, steps[lane] / interleave);
    steps[0] = interleave;
  }
  forEachLine([&](ArrayRef<int64_t> at) {
    SmallVector<Value> where;
    for (auto [offset, along] : llvm::zip_equal(offsets, at))
      where.push_back(add(offset, index(along)));
    emitPrefetchAt(placeOf(view, where, lane, 1).anywhere, kSecondCache);
  });
}

} // namespace sinter::targets::cpu
