// Distribution, tiles: elementwise work stays in the thread; reductions and new layouts cross
// threads.
#include "base/check.h"
#include "sched/simt/distribute/distributor.h"

using namespace mlir;

namespace sinter::sched {

// Values from which on a maximum by their bits costs less.
static constexpr size_t kFewestByBits = 4;

// The operation of one element each.
Value Distributor::elementOf(Operation *op, ArrayRef<Value> operands) {
  IRMapping each;
  each.map(op->getOperands(), operands);
  Operation *scalar = b_.clone(*op, each);
  scalar->getResult(0).setType(cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  return scalar->getResult(0);
}

LogicalResult Distributor::emitElementwise(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t count = SimtLayout::of(type).registers();
  Registers results;
  for (int64_t number = 0; number < count; ++number)
    results.push_back(elementOf(op, llvm::map_to_vector(op->getOperands(), [&](Value operand) {
                                  return isa<RankedTensorType>(operand.getType())
                                             ? registersOf(operand)[number]
                                             : scalarOf(operand);
                                })));
  registers_[op->getResult(0)] = std::move(results);
  return success();
}

LogicalResult Distributor::emitConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || !elements.isSplat())
    return op.emitOpError() << "holds different elements, expected one value for all: load a table";
  Value value = arith::ConstantOp::create(b_, loc_, elements.getSplatValue<TypedAttr>());
  registers_[op.getResult()] = Registers(SimtLayout::of(op.getType()).registers(), value);
  return success();
}

void Distributor::emitIota(tile::IotaOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  SimtLayout layout = SimtLayout::of(type);
  auto axis = static_cast<int>(op.getAxis());
  llvm::DenseMap<int64_t, Value> made;
  Registers registers;
  for (int64_t number = 0; number < layout.registers(); ++number) {
    Value &value = made[layout.registerCoords(number)[axis]];
    if (!value) {
      Value at = add(threadPart(layout)[axis], int32(layout.registerCoords(number)[axis]));
      value = isa<FloatType>(element) ? arith::SIToFPOp::create(b_, loc_, element, at).getResult()
              : element.isIndex()     ? toIndex(at)
              : element.isInteger(32) ? at
              : element.getIntOrFloatBitWidth() > 32
                  ? arith::ExtSIOp::create(b_, loc_, element, at).getResult()
                  : arith::TruncIOp::create(b_, loc_, element, at).getResult();
    }
    registers.push_back(value);
  }
  registers_[op.getResult()] = std::move(registers);
}

// The register of what is broadcast that the result's has.
int64_t Distributor::registerBelow(tile::BroadcastOp op, int64_t number) {
  SimtLayout from = SimtLayout::of(op.getValue().getType());
  SmallVector<int64_t> coords = SimtLayout::of(op.getResult().getType()).registerCoords(number);
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from.shape()[axis] == 1)
      coords[axis] = 0;
  return from.registerAt(coords);
}

void Distributor::emitBroadcast(tile::BroadcastOp op) {
  Registers registers;
  const int64_t count = SimtLayout::of(op.getResult().getType()).registers();
  for (int64_t number = 0; number < count; ++number)
    registers.push_back(registersOf(op.getValue())[registerBelow(op, number)]);
  registers_[op.getResult()] = std::move(registers);
}

// The layout was permuted with the tile, so each thread keeps what it has; only the order of
// repeats may differ.
void Distributor::emitPermute(tile::PermuteOp op) {
  SimtLayout from = SimtLayout::of(op.getValue().getType()),
             to = SimtLayout::of(op.getResult().getType());
  Registers moved(to.registers());
  for (int64_t number = 0; number < from.registers(); ++number) {
    SmallVector<int64_t> coords = from.registerCoords(number), at;
    for (int64_t axis : op.getOrder())
      at.push_back(coords[axis]);
    moved[to.registerAt(at)] = registersOf(op.getValue())[number];
  }
  registers_[op.getResult()] = std::move(moved);
}

// ---- reductions: registers in pairs, then threads of a subgroup, then subgroups ----

Value Distributor::combine(tile::ReduceKind kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case tile::ReduceKind::Sum:
    return isFloat ? arith::AddFOp::create(b_, loc_, a, b).getResult()
                   : arith::AddIOp::create(b_, loc_, a, b).getResult();
  case tile::ReduceKind::Max:
  case tile::ReduceKind::MaxAnyNan:
    return isFloat ? arith::MaximumFOp::create(b_, loc_, a, b).getResult()
                   : arith::MaxSIOp::create(b_, loc_, a, b).getResult();
  case tile::ReduceKind::Min:
    return isFloat ? arith::MinimumFOp::create(b_, loc_, a, b).getResult()
                   : arith::MinSIOp::create(b_, loc_, a, b).getResult();
  }
  llvm_unreachable("every kind is handled");
}

// Registers in pairs, each half with the other.
Value Distributor::combined(Registers group, llvm::function_ref<Value(Value, Value)> two) {
  for (; group.size() > 1; group.resize(llvm::divideCeil(group.size(), 2)))
    for (size_t at = 0, half = llvm::divideCeil(group.size(), 2); at + half < group.size(); ++at)
      group[at] = two(group[at], group[at + half]);
  return group.front();
}

// The same as MaximumFOps give, by three operations on bits for each value. As signed integers the
// largest is the maximum if any has no sign bit; if all have one, it is the smallest of the
// unsigned. NaN is above infinity, and with a sign bit above all unsigned.
Value Distributor::maximumByBits(ArrayRef<Value> group) {
  Type f32 = b_.getF32Type(), i32 = b_.getI32Type();
  Registers bits;
  for (Value value : group)
    bits.push_back(arith::BitcastOp::create(b_, loc_, i32, value));
  auto by = [&]<class Op>() {
    return combined(bits, [&](Value a, Value b) -> Value { return Op::create(b_, loc_, a, b); });
  };
  Value top = by.operator()<arith::MaxSIOp>(), least = by.operator()<arith::MinUIOp>(),
        most = by.operator()<arith::MaxUIOp>();
  auto select = [&](arith::CmpIPredicate is, Value a, Value b, Value then, Value other) -> Value {
    Value when = arith::CmpIOp::create(b_, loc_, is, a, b);
    return arith::SelectOp::create(b_, loc_, when, then, other);
  };
  constexpr int64_t kMinusInfinity = 0xff800000;
  Value found = select(arith::CmpIPredicate::slt, top, int32(0), least, top);
  Value infinity = int32(static_cast<int32_t>(kMinusInfinity));
  found = select(arith::CmpIPredicate::ugt, most, infinity, most, found);
  return arith::BitcastOp::create(b_, loc_, f32, found);
}

static TypedAttr neutral(tile::ReduceKind kind, Type type) {
  Builder b(type.getContext());
  bool max = tile::isMax(kind);
  if (auto real = dyn_cast<FloatType>(type))
    return b.getFloatAttr(real, kind == tile::ReduceKind::Sum
                                    ? APFloat::getZero(real.getFloatSemantics())
                                    : APFloat::getInf(real.getFloatSemantics(), max));
  unsigned width = type.getIntOrFloatBitWidth();
  return b.getIntegerAttr(type, kind == tile::ReduceKind::Sum ? APInt::getZero(width)
                                : max                         ? APInt::getSignedMinValue(width)
                                                              : APInt::getSignedMaxValue(width));
}

// All threads write, and each combines those that differ from it in `mask`, ascending: all get the
// same bits.
Value Distributor::acrossSubgroups(tile::ReduceKind kind, Value value, int64_t mask) {
  int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  int64_t bytes = elementBytes(value.getType());
  shared_ = std::max(shared_, pipelineEnd_ + threads * bytes);
  claimShared();
  SharedStoreOp::create(b_, loc_, value, add(mul(thread_, int32(bytes)), int32(pipelineEnd_)),
                        yes());
  barrier();
  Value base = b_.createOrFold<arith::AndIOp>(loc_, thread_, int32((threads - 1) & ~mask));
  Value total;
  for (int64_t bits = 0;;) {
    Value at = add(mul(add(base, int32(bits)), int32(bytes)), int32(pipelineEnd_));
    Value each = SharedLoadOp::create(b_, loc_, value.getType(), at);
    total = total ? combine(kind, total, each) : each;
    bits = (bits - mask) & mask; // the next subset of the mask
    if (!bits)
      return total;
  }
}

LogicalResult Distributor::emitReduce(tile::ReduceOp op) {
  SimtLayout from = SimtLayout::of(op.getValue().getType()),
             to = SimtLayout::of(op.getResult().getType());
  auto axis = static_cast<int>(op.getAxis());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  bool wide = element.getIntOrFloatBitWidth() == 32;
  if (!wide)
    return op.emitOpError() << "reduces " << element << ", expected f32 or i32: convert it first";
  SmallVector<SmallVector<Value>> groups(to.registers());
  Value none = arith::ConstantOp::create(b_, loc_, neutral(op.getKind(), element));
  for (int64_t number = 0; number < from.registers(); ++number) {
    if (isPadding(from, number))
      continue;
    SmallVector<int64_t> coords = from.registerCoords(number);
    coords[axis] = 0;
    Value value = registersOf(op.getValue())[number];
    if (Value inside = inAxis(from, number, axis)) // what lies beyond others stays there
      value = arith::SelectOp::create(b_, loc_, inside, value, none);
    groups[to.registerAt(coords)].push_back(value);
  }
  int64_t threads = 0;
  for (auto [at, bit] : llvm::enumerate(from.threadBits()))
    if (bit.axis == axis)
      threads |= int64_t(1) << at;
  Registers results;
  for (SmallVector<Value> &group : groups) {
    if (group.empty())
      group.push_back(none);
    bool byBits = !facts_.ownMaximum && tile::isMax(op.getKind()) && isa<FloatType>(element) &&
                  group.size() >= kFewestByBits;
    Value value =
        byBits ? maximumByBits(group)
               : combined(group, [&](Value a, Value b) { return combine(op.getKind(), a, b); });
    for (int64_t bit = 1; bit < facts_.subgroup; bit *= 2)
      if (threads & bit)
        value = combine(op.getKind(), value, ShuffleOp::create(b_, loc_, value, bit));
    if (int64_t rest = threads & ~(facts_.subgroup - 1))
      value = acrossSubgroups(op.getKind(), value, rest);
    results.push_back(value);
  }
  registers_[op.getResult()] = std::move(results);
  return success();
}

// ---- layouts and shapes ----

LogicalResult Distributor::emitConvert(ConvertOp op) {
  SimtLayout from = SimtLayout::of(op.getValue().getType()),
             to = SimtLayout::of(op.getResult().getType());
  if (from.threadBits() == to.threadBits()) {
    Registers registers;
    for (int64_t number = 0; number < to.registers(); ++number) {
      bool padding = isPadding(to, number); // which `from` may not have
      int64_t at = padding ? 0 : from.registerAt(to.registerCoords(number));
      registers.push_back(registersOf(op.getValue())[at]);
    }
    registers_[op.getResult()] = std::move(registers);
    return success();
  }
  SmallVector<int64_t> zeros(from.rank(), 0);
  FailureOr<Registers> moved =
      throughShared(op, from, registersOf(op.getValue()), to, from.shape(), zeros);
  if (failed(moved))
    return failure();
  registers_[op.getResult()] = std::move(*moved);
  return success();
}

// Row-major strides of `shape` as a tile of one axis has them.
static SharedTile flatTile(const SharedTile &memory, ArrayRef<int64_t> shape) {
  SharedTile flat = memory;
  flat.strides.assign(shape.size(), 1);
  int64_t stride = 1;
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; stride *= shape[axis], --axis)
    flat.strides[axis] = stride;
  return flat;
}

static SmallVector<int64_t> inOrder(int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

LogicalResult Distributor::emitReshape(tile::ReshapeOp op) {
  SimtLayout from = SimtLayout::of(op.getValue().getType()),
             to = SimtLayout::of(op.getResult().getType());
  const Registers values = registersOf(op.getValue());
  if (from.reshaped(to.shape()) == std::optional(to)) {
    registers_[op.getResult()] = values;
    return success();
  }
  Type element = values.front().getType();
  Registers moved;
  auto write = [&](const SharedTile &memory) {
    put(flatTile(memory, from.shape()), from, values, SmallVector<int64_t>(from.rank(), 0),
        inOrder(from.rank()));
  };
  auto read = [&](const SharedTile &memory) {
    take(flatTile(memory, to.shape()), to, moved, element, SmallVector<int64_t>(to.rank(), 0),
         inOrder(to.rank()));
  };
  if (failed(exchange(op, placed({llvm::product_of(from.shape())}, element, 0), write, read)))
    return failure();
  registers_[op.getResult()] = std::move(moved);
  return success();
}

LogicalResult Distributor::emitSlice(tile::SliceOp op) {
  SimtLayout from = SimtLayout::of(op.getValue().getType()),
             to = SimtLayout::of(op.getResult().getType());
  FailureOr<Registers> moved =
      throughShared(op, from, registersOf(op.getValue()), to, from.shape(), op.getOffsets());
  if (failed(moved))
    return failure();
  registers_[op.getResult()] = std::move(*moved);
  return success();
}

// Tiles of whole atoms in the result's layout: each thread has its parts of the result already.
bool Distributor::joinRegisters(tile::ConcatOp op) {
  SimtLayout to = SimtLayout::of(op.getResult().getType());
  auto axis = static_cast<int>(op.getAxis());
  bool joins = llvm::all_of(op.getValues(), [&](Value value) {
    SimtLayout from = SimtLayout::of(value.getType());
    return to.ofPart(from.shape(), axis) == from;
  });
  if (!joins)
    return false;
  Registers joined(to.registers());
  int64_t offset = 0;
  for (Value value : op.getValues()) {
    SimtLayout from = SimtLayout::of(value.getType());
    for (auto [number, each] : llvm::enumerate(registersOf(value))) {
      SmallVector<int64_t> coords = from.registerCoords(static_cast<int64_t>(number));
      coords[axis] += offset;
      joined[to.registerAt(coords)] = each;
    }
    offset += from.shape()[axis];
  }
  registers_[op.getResult()] = std::move(joined);
  return true;
}

LogicalResult Distributor::emitConcat(tile::ConcatOp op) {
  if (joinRegisters(op))
    return success();
  SimtLayout to = SimtLayout::of(op.getResult().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  Registers moved;
  auto write = [&](const SharedTile &memory) {
    SmallVector<int64_t> offset(to.rank(), 0);
    for (Value value : op.getValues()) {
      SimtLayout from = SimtLayout::of(value.getType());
      put(memory, from, registersOf(value), offset, inOrder(to.rank()));
      offset[op.getAxis()] += from.shape()[op.getAxis()];
    }
  };
  auto read = [&](const SharedTile &memory) {
    take(memory, to, moved, element, SmallVector<int64_t>(to.rank(), 0), inOrder(to.rank()));
  };
  if (failed(exchange(op, placed(to.shape(), element, 0), write, read)))
    return failure();
  registers_[op.getResult()] = std::move(moved);
  return success();
}

} // namespace sinter::sched
