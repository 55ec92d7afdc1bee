// Distribution, memory: each thread's addresses, conditions and vector widths in views.
#include "base/check.h"
#include "numeric/formats/dot_packing.h"
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/split_dots.h"
#include "sched/view_bounds.h"

using namespace mlir;

namespace sinter::sched {

// Bytes and elements of what a view is made of. Unknown formats are refused where they are read.
static std::pair<int64_t, int64_t> unitOf(Type element) {
  auto block = dyn_cast<tile::BlockType>(element);
  if (!block)
    return {elementBytes(element), 1};
  if (const ActivationFormat *activation = tile::activationFormatOf(block))
    return {activation->bytes(), kActivationLength};
  const BlockFormat *format = findBlockFormat(block.getFormat().upper());
  return format ? std::pair<int64_t, int64_t>(format->blockBytes, format->blockLength)
                : std::pair<int64_t, int64_t>(1, 1);
}

void Distributor::bindView(BlockArgument argument) {
  auto type = cast<tile::ViewType>(argument.getType());
  SimtView view;
  view.type = type;
  view.argument = map_.lookup(argument);
  std::tie(view.bytes, view.length) = unitOf(type.getElementType());
  auto rank = static_cast<unsigned>(type.getRank());
  for (unsigned axis = 0; axis < rank; ++axis) {
    int64_t extent = type.getShape()[axis];
    view.dims.push_back(ShapedType::isDynamic(extent)
                            ? tile::DimOp::create(b_, loc_, view.argument, axis).getResult()
                            : index(extent));
    view.origin.push_back(index(0));
    view.low.push_back({});
    bool next = axis + 1 == rank && (!type.getStrided() || view.length > 1);
    std::optional<int64_t> given = next ? 1 : tile::givenStride(argument, axis);
    Value stride =
        given ? index(*given) : StrideOp::create(b_, loc_, view.argument, axis).getResult();
    if (view.length > 1 && !next)
      stride = b_.createOrFold<arith::DivUIOp>(loc_, stride, index(view.length));
    view.strides.push_back(stride);
  }
  view.originDivisor.assign(rank, 0);
  view.whole.assign(rank, true);
  views_[argument] = view;
}

void Distributor::emitWindow(tile::WindowOp op) {
  SimtView view = views_.find(op.getView())->second;
  view.type = op.getResult().getType();
  for (auto [axis, origin] : llvm::enumerate(scalarsOf(op.getOrigins()))) {
    view.low[axis] = lowOfWindow(b_, loc_, view.low[axis], origin);
    Value left = b_.createOrFold<arith::SubIOp>(loc_, view.dims[axis], origin);
    left = b_.createOrFold<arith::MinSIOp>(loc_, left, scalarOf(op.getExtents()[axis]));
    view.dims[axis] = b_.createOrFold<arith::MaxSIOp>(loc_, left, index(0));
    view.origin[axis] = add(view.origin[axis], origin);
    view.originDivisor[axis] = std::gcd(view.originDivisor[axis], divisorOf(op.getOrigins()[axis]));
    auto extent = getConstantIntValue(op.getExtents()[axis]);
    bool keeps = getConstantIntValue(op.getOrigins()[axis]) == int64_t(0) && extent &&
                 *extent == op.getView().getType().getShape()[axis];
    view.whole[axis] = view.whole[axis] && keeps;
  }
  views_[op.getResult()] = view;
}

void Distributor::emitGather(tile::GatherOp op) {
  const SimtView &pages = views_.find(op.getPages())->second;
  const SimtView &indices = views_.find(op.getIndex())->second;
  SimtView view;
  view.type = op.getResult().getType();
  view.argument = pages.argument;
  view.bytes = pages.bytes;
  view.length = pages.length;
  view.index = indices.argument;
  view.indexOrigin = indices.origin[0];
  view.indexStride = indices.strides[0];
  view.pageCount = pages.dims[0];
  view.rowStride = pages.strides[1];
  view.pageRows = op.getPages().getType().getShape()[1];
  view.byRow = op.getByRow();
  auto axis = [&](Value dim, Value origin, Value stride, int64_t divisor, bool whole) {
    view.low.push_back({});
    view.dims.push_back(dim);
    view.origin.push_back(origin);
    view.strides.push_back(stride);
    view.originDivisor.push_back(divisor);
    view.whole.push_back(whole);
  };
  axis(view.byRow ? indices.dims[0] : mul(indices.dims[0], index(view.pageRows)), index(0),
       pages.strides[0], 0, false);
  for (int64_t from = 2; from < pages.type.getRank(); ++from)
    axis(pages.dims[from], pages.origin[from], pages.strides[from], pages.originDivisor[from],
         pages.whole[from]);
  Value low = indices.low[0];
  view.low[0] = low && !view.byRow ? mul(low, index(view.pageRows)) : low;
  llvm::copy(llvm::drop_begin(pages.low, 2), std::next(view.low.begin()));
  views_[op.getResult()] = view;
}

// Registers that one access moves: neighbours in memory whose offset, extent and strides are
// multiples of their number.
int64_t Distributor::vectorOf(const SimtView &view, ValueRange offsets, const SimtLayout &layout) {
  auto axis = static_cast<int>(view.type.getContiguousAxis());
  if (axis < 0 || view.length > 1 || !view.whole[axis] || (axis == 0 && view.index))
    return 1;
  int64_t vector =
      std::min(layout.vector(axis), facts_.vectorBytes / elementBytes(view.type.getElementType()));
  int64_t divisor = std::gcd(view.originDivisor[axis], divisorOf(offsets[axis]));
  divisor = std::gcd(divisor, layout.shape()[axis]);
  if (int64_t interleave = view.type.getInterleave())
    divisor = std::gcd(divisor, interleave);
  while (vector > 1 && divisor % vector)
    vector /= 2;
  if (vector > 1)
    wide_.insert(view.argument);
  return aligned_ ? vector : 1;
}

SimtAccess Distributor::accessOf(const SimtView &view, ValueRange offsets,
                                 const SimtLayout &layout) {
  SimtAccess access(view, layout, vectorOf(view, offsets, layout));
  ArrayRef<Value> parts = threadPart(layout);
  Value base = index(0);
  for (int axis = 0; axis < layout.rank(); ++axis) {
    Value offset = scalarOf(offsets[axis]);
    access.uniform.push_back(offset);
    access.at.push_back(add(offset, toIndex(parts[axis])));
    int64_t extent = layout.shape()[axis], dim = view.type.getShape()[axis];
    access.all.push_back(!ShapedType::isDynamic(dim) && view.whole[axis] && dim % extent == 0 &&
                         divisorOf(offsets[axis]) % extent == 0 && extent % layout.atom(axis) == 0);
    bool inBlocks = view.length > 1 && axis + 1 == layout.rank();
    if (view.type.getInterleave() || inBlocks || (axis == 0 && view.index))
      continue;
    Value where = add(view.origin[axis], access.at[axis]);
    base = add(base, mul(where, mul(view.strides[axis], index(view.bytes))));
  }
  access.base = base;
  return access;
}

// Page and row that hold a gathered view's row.
std::pair<Value, Value> Distributor::gatheredRow(SimtAccess &access, int64_t part) {
  auto [found, isNew] = access.rows.try_emplace(part);
  if (!isNew)
    return found->second;
  const SimtView &view = access.view;
  Value at = add(access.at[0], index(part)), where = add(at, view.origin[0]);
  Value rows = index(view.pageRows);
  Value entry = view.byRow ? where : b_.createOrFold<arith::DivUIOp>(loc_, where, rows);
  Value byte = mul(mul(add(view.indexOrigin, entry), view.indexStride), index(4));
  Value inside = isWithin(b_, loc_, at, view.low[0], view.dims[0]);
  Value number = ViewLoadOp::create(b_, loc_, view.index, byte, inside, int32(-1), IntegerAttr());
  number = b_.createOrFold<arith::IndexCastOp>(loc_, b_.getIndexType(), number);
  Value page = number, row = view.byRow ? number : where;
  if (view.byRow)
    page = b_.createOrFold<arith::DivUIOp>(loc_, number, rows);
  row = b_.createOrFold<arith::RemUIOp>(loc_, row, rows);
  return access.rows[part] = {page, row};
}

// Bytes that a register's part of the coordinate adds along one axis.
Value Distributor::stepBytes(SimtAccess &access, int axis, int64_t part) {
  Value &step = access.steps[{axis, part}];
  if (step)
    return step;
  const SimtView &view = access.view;
  int64_t bytes = view.bytes;
  if (view.length > 1 && axis + 1 == access.layout.rank())
    return step = index(0);
  if (int64_t interleave = view.type.getInterleave()) {
    // Row r, column k of packed rows: ((r / R) * row stride + k) * R + r mod R.
    Value where = add(add(view.origin[axis], access.at[axis]), index(part));
    if (axis > 0)
      return step = mul(where, index(interleave * bytes));
    Value group = b_.createOrFold<arith::DivUIOp>(loc_, where, index(interleave));
    Value inGroup = b_.createOrFold<arith::RemUIOp>(loc_, where, index(interleave));
    Value rows = mul(mul(group, view.strides[0]), index(interleave * bytes));
    return step = view.length > 1 ? rows : add(rows, mul(inGroup, index(bytes)));
  }
  if (axis == 0 && view.index) {
    auto [page, row] = gatheredRow(access, part);
    Value elements = add(mul(page, view.strides[0]), mul(row, view.rowStride));
    return access.steps[{axis, part}] = mul(elements, index(bytes));
  }
  return step = mul(index(part), mul(view.strides[axis], index(bytes)));
}

Value Distributor::byteAt(SimtAccess &access, int64_t number) {
  SmallVector<int64_t> parts = access.layout.registerCoords(number);
  Value byte = access.base;
  for (int axis = 0; axis < access.layout.rank(); ++axis)
    byte = add(byte, stepBytes(access, axis, parts[axis]));
  return byte;
}

Value Distributor::insideAxis(SimtAccess &access, int axis, int64_t part) {
  if (access.all[axis])
    part = 0;
  Value &inside = access.inside[{axis, part}];
  if (inside)
    return inside;
  const SimtView &view = access.view;
  Value at = access.all[axis] ? access.uniform[axis] : add(access.at[axis], index(part));
  Value within = isWithin(b_, loc_, at, view.low[axis], view.dims[axis]);
  if (axis == 0 && view.index) {
    Value page = gatheredRow(access, part).first;
    within = both(within, b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, page,
                                                         view.pageCount));
  }
  return inside = within;
}

Value Distributor::whenAt(SimtAccess &access, int64_t number) {
  SmallVector<int64_t> parts = access.layout.registerCoords(number);
  Value when = inTile(access.layout, number);
  for (int axis = 0; axis < access.layout.rank(); ++axis)
    when = both(when, insideAxis(access, axis, parts[axis]));
  return when;
}

Value Distributor::vectorFrom(ArrayRef<Value> values) {
  if (values.size() == 1)
    return values.front();
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, values.front().getType());
  return vector::FromElementsOp::create(b_, loc_, type, values);
}

SmallVector<Value> Distributor::scalarsOf(Value word, int64_t count) {
  if (count == 1)
    return {word};
  SmallVector<Value> values;
  for (int64_t at = 0; at < count; ++at)
    values.push_back(vector::ExtractOp::create(b_, loc_, word, at));
  return values;
}

// One access, of the registers from `number` on.
void Distributor::loadPiece(TileLoad &load, int64_t number) {
  SimtAccess &access = load.access;
  auto into = llvm::MutableArrayRef<Value>(load.registers).slice(number, access.vector);
  if (isPadding(access.layout, number))
    return llvm::fill(into, load.other);
  Value when = whenAt(access, number), byte = byteAt(access, number);
  Value word =
      ViewLoadOp::create(b_, loc_, access.view.argument, byte, when ? when : yes(),
                         vectorFrom(SmallVector<Value>(access.vector, load.other)), IntegerAttr());
  llvm::copy(scalarsOf(word, access.vector), into.begin());
}

TileLoad Distributor::loadOf(tile::LoadOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SimtLayout layout = SimtLayout::of(type);
  SimtAccess access = accessOf(views_.find(op.getView())->second, op.getOffsets(), layout);
  auto pad = dyn_cast_if_present<TypedAttr>(op.getPadAttr());
  Value other = arith::ConstantOp::create(
      b_, loc_, pad ? pad : cast<TypedAttr>(b_.getZeroAttr(type.getElementType())));
  return {access, other, Registers(layout.registers())};
}

bool isReadInTurn(Operation *load) {
  Operation *dot = load->hasOneUse() ? *load->user_begin() : nullptr;
  auto split = dyn_cast_or_null<SplitDotOp>(dot);
  const bool reads =
      isa_and_nonnull<GroupDotOp>(dot) || (split && (split.getReading() || besideOf(split) > 1));
  return reads && dot->getOperand(0) == load->getResult(0) && dot->getBlock() == load->getBlock();
}

LogicalResult Distributor::emitLoad(tile::LoadOp op) {
  if (isa<tile::BlockType>(cast<RankedTensorType>(op.getResult().getType()).getElementType()) ||
      isReadInTurn(op))
    return success(); // read by the operation that uses it
  TileLoad load = loadOf(op);
  for (int64_t number = 0; number < load.access.layout.registers(); number += load.access.vector)
    loadPiece(load, number);
  registers_[op.getResult()] = std::move(load.registers);
  return success();
}

LogicalResult Distributor::emitLoadScalar(tile::LoadScalarOp op) {
  Type element = op.getResult().getType();
  const SimtView &view = views_.find(op.getView())->second;
  SmallVector<int64_t> ones(view.type.getRank(), 1);
  SimtLayout layout(ones, {}, SmallVector<LayoutBit>());
  SimtAccess access = accessOf(view, op.getOffsets(), layout);
  Value other = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(element)));
  map_.map(op.getResult(), ViewLoadOp::create(b_, loc_, view.argument, byteAt(access, 0),
                                              whenAt(access, 0), other, IntegerAttr())
                               .getResult());
  return success();
}

LogicalResult Distributor::emitStore(tile::StoreOp op) {
  auto type = cast<RankedTensorType>(op.getValue().getType());
  if (isa<tile::BlockType>(type.getElementType()))
    return op.emitOpError() << "stores " << type << ", which has no form for threads yet";
  SimtLayout layout = SimtLayout::of(type);
  SimtAccess access = accessOf(views_.find(op.getView())->second, op.getOffsets(), layout);
  const Registers &registers = registersOf(op.getValue());
  Value first = firstCopy(layout);
  for (int64_t number = 0; number < layout.registers(); number += access.vector) {
    if (isPadding(layout, number))
      continue;
    Value when = both(both(stores_, first), whenAt(access, number));
    Value byte = byteAt(access, number);
    ViewStoreOp::create(b_, loc_,
                        vectorFrom(ArrayRef<Value>(registers).slice(number, access.vector)),
                        access.view.argument, byte, when ? when : yes(), IntegerAttr());
  }
  return success();
}

} // namespace sinter::sched
