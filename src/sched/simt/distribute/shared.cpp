// Distribution, shared memory: tiles that threads hand to one another. Every hand-over is a
// barrier, the writes, a barrier, the reads, so that places can be used again.
#include "sched/simt/distribute/distributor.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kBankBytes = 16; // added to rows, so that columns fall in several banks

ArrayRef<Value> Distributor::threadPart(const SimtLayout &layout) {
  SimtLayout bare = layout.withShape(SmallVector<int64_t>(layout.rank(), 1));
  Attribute key = ArrayAttr::get(kernel_.getContext(), {bare.attribute(kernel_.getContext()),
                                                        b_.getI64IntegerAttr(layout.rank())});
  auto [found, isNew] = threadParts_.try_emplace(key);
  if (!isNew)
    return found->second;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointAfter(entry_);
  SmallVector<Value> parts(layout.rank(), int32(0));
  ArrayRef<LayoutBit> bits = layout.threadBits();
  for (size_t at = 0; at < bits.size();) {
    size_t run = 1;
    while (bits[at].axis >= 0 && at + run < bits.size() &&
           bits[at + run] == LayoutBit{bits[at].axis, bits[at].bit + static_cast<int>(run)})
      ++run;
    if (bits[at].axis >= 0) {
      Value part = b_.createOrFold<arith::ShRUIOp>(loc_, thread_, int32(at));
      part = b_.createOrFold<arith::AndIOp>(loc_, part, int32((int64_t(1) << run) - 1));
      part = b_.createOrFold<arith::ShLIOp>(loc_, part, int32(bits[at].bit));
      parts[bits[at].axis] = b_.createOrFold<arith::OrIOp>(loc_, parts[bits[at].axis], part);
    }
    at += run;
  }
  return threadParts_[key] = parts;
}

// Bytes of the coordinate that threads decide, at most.
static int64_t mostThreadPart(const SimtLayout &layout, int axis) {
  int64_t most = 0;
  for (LayoutBit bit : layout.threadBits())
    if (bit.axis == axis)
      most += int64_t(1) << bit.bit;
  return most;
}

bool Distributor::isPadding(const SimtLayout &layout, int64_t number) {
  SmallVector<int64_t> parts = layout.registerCoords(number);
  for (int axis = 0; axis < layout.rank(); ++axis)
    if (parts[axis] >= layout.shape()[axis])
      return true;
  return false;
}

Value Distributor::inAxis(const SimtLayout &layout, int64_t number, int axis) {
  int64_t left = layout.shape()[axis] - layout.registerCoords(number)[axis];
  if (mostThreadPart(layout, axis) < left)
    return {};
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::slt, threadPart(layout)[axis],
                                        int32(left));
}

Value Distributor::inTile(const SimtLayout &layout, int64_t number) {
  Value inside;
  for (int axis = 0; axis < layout.rank(); ++axis)
    if (Value within = inAxis(layout, number, axis))
      inside = both(inside, within);
  return inside;
}

Value Distributor::firstCopy(const SimtLayout &layout) {
  int64_t copies = layout.copies();
  if (!copies)
    return {};
  Value bits = b_.createOrFold<arith::AndIOp>(loc_, thread_, int32(copies));
  return b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, bits, int32(0));
}

// i1 lies in bytes.
static Type storedAs(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
}

SharedTile Distributor::placed(ArrayRef<int64_t> shape, Type element, int64_t base) const {
  SharedTile shared{SmallVector<int64_t>(shape.size(), 1), base + pipelineEnd_, storedAs(element)};
  int64_t bytes = elementBytes(shared.element), stride = 1;
  for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
    shared.strides[axis] = stride;
    stride *= shape[axis];
    if (axis + 1 == static_cast<int>(shape.size()) && shape[axis] > 1 && shape.size() > 1)
      stride = llvm::alignTo(stride * bytes, kBankBytes) / bytes + kBankBytes / bytes;
  }
  shared.bytes = shared.end = static_cast<int64_t>(llvm::alignTo(stride * bytes, kBankBytes));
  return shared;
}

LogicalResult Distributor::tooLarge(Operation *op, int64_t bytes) const {
  return op->emitOpError() << "needs " << bytes << " bytes of shared memory, expected at most "
                           << facts_.maxShared << ": choose smaller blocks";
}

// Each window is code of its own, so a tile that wants many is refused. They begin where no access
// reaches from one into the next.
FailureOr<SmallVector<SharedTile>> Distributor::windowsOf(Operation *op, const SharedTile &tile) {
  constexpr int64_t kMostWindows = 16;
  const int64_t room = (facts_.maxShared - tile.base) / kBankBytes * kBankBytes;
  const int64_t count = room > 0 ? llvm::divideCeil(tile.bytes, room) : kMostWindows + 1;
  if (count > kMostWindows)
    return tooLarge(op, tile.base + tile.bytes);
  const int64_t each = llvm::alignTo(llvm::divideCeil(tile.bytes, count), kBankBytes);
  SmallVector<SharedTile> windows;
  for (int64_t begin = 0; begin < tile.bytes; begin += each) {
    windows.push_back(tile);
    windows.back().begin = begin;
    windows.back().end = std::min(begin + each, tile.bytes);
  }
  shared_ = std::max(shared_, tile.base + std::min(each, tile.bytes));
  return windows;
}

// Byte offset of an element: constants of the register beside the thread's share. `axes[i]` is the
// memory axis of the layout's axis i.
static std::pair<int64_t, SmallVector<int64_t>> sharedStrides(const SharedTile &shared,
                                                              const SimtLayout &layout,
                                                              ArrayRef<int64_t> offset,
                                                              ArrayRef<int64_t> axes) {
  int64_t bytes = elementBytes(shared.element), base = shared.base;
  SmallVector<int64_t> strides;
  for (int axis = 0; axis < layout.rank(); ++axis)
    strides.push_back(shared.strides[axes[axis]] * bytes);
  for (auto [at, stride] : llvm::zip_equal(offset, shared.strides))
    base += at * stride * bytes;
  return {base, strides};
}

// How many registers lie side by side in shared memory.
static int64_t sharedVector(const SimtLayout &layout, ArrayRef<int64_t> strides, int64_t base,
                            int64_t bytes, int64_t most) {
  for (int axis = 0; axis < layout.rank(); ++axis) {
    if (strides[axis] != bytes)
      continue;
    int64_t vector = std::min(layout.vector(axis), most / bytes);
    auto fits = [&](int64_t v) {
      bool even = base % (v * bytes) == 0 && layout.shape()[axis] % v == 0;
      for (int other = 0; other < layout.rank(); ++other)
        even &= other == axis || layout.shape()[other] == 1 || strides[other] % (v * bytes) == 0;
      return even;
    };
    while (vector > 1 && !fits(vector))
      vector /= 2;
    if (vector > 1)
      return vector;
  }
  return 1;
}

static int64_t registerBytes(const SharedPlan &plan, const SimtLayout &layout, int64_t number) {
  int64_t byte = plan.base;
  for (auto [part, stride] : llvm::zip_equal(layout.registerCoords(number), plan.strides))
    byte += part * stride;
  return byte;
}

SharedPlan Distributor::planOf(const SharedTile &shared, const SimtLayout &layout,
                               ArrayRef<int64_t> offset, ArrayRef<int64_t> axes) {
  auto [base, strides] = sharedStrides(shared, layout, offset, axes);
  int64_t bytes = elementBytes(shared.element);
  SharedPlan plan{base, strides, sharedVector(layout, strides, base, bytes, facts_.vectorBytes), 0,
                  int32(0)};
  for (auto [part, stride] : llvm::zip_equal(threadPart(layout), strides))
    plan.thread = add(plan.thread, mul(part, int32(stride)));
  for (LayoutBit bit : layout.threadBits())
    plan.most += bit.axis < 0 ? 0 : strides[bit.axis] << bit.bit;
  return plan;
}

std::optional<Value> Distributor::inWindow(const SharedTile &shared, const SharedPlan &plan,
                                           int64_t byte) {
  const int64_t begin = shared.base + shared.begin, end = shared.base + shared.end;
  if (shared.isWhole())
    return Value();
  if (byte >= end || byte + plan.most < begin)
    return std::nullopt;
  if (byte >= begin && byte + plan.most < end)
    return Value();
  return arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::ult,
                               add(plan.thread, int32(byte - begin)), int32(end - begin))
      .getResult();
}

void Distributor::put(const SharedTile &shared, const SimtLayout &layout, ArrayRef<Value> registers,
                      ArrayRef<int64_t> offset, ArrayRef<int64_t> axes) {
  SharedPlan plan = planOf(shared, layout, offset, axes);
  Value thread = step_ ? add(plan.thread, step_) : plan.thread;
  Value first = firstCopy(layout);
  for (int64_t number = 0; number < layout.registers(); number += plan.vector) {
    const int64_t byte = registerBytes(plan, layout, number);
    std::optional<Value> there =
        isPadding(layout, number) ? std::nullopt : inWindow(shared, plan, byte);
    if (!there)
      continue;
    SmallVector<Value> values(registers.slice(number, plan.vector));
    for (Value &value : values)
      if (value.getType() != shared.element)
        value = arith::ExtUIOp::create(b_, loc_, shared.element, value);
    Value when = both(both(first, inTile(layout, number)), *there);
    SharedStoreOp::create(b_, loc_, vectorFrom(values), add(thread, int32(byte - shared.begin)),
                          when ? when : yes());
  }
}

void Distributor::takePiece(const SharedTile &shared, const SharedPlan &plan,
                            const SimtLayout &layout, Registers &registers, Type element,
                            int64_t number) {
  MutableArrayRef<Value> taken = MutableArrayRef(registers).slice(number, plan.vector);
  if (isPadding(layout, number)) {
    Value zero = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(element)));
    return llvm::fill(taken, zero);
  }
  const int64_t byte = registerBytes(plan, layout, number);
  std::optional<Value> there = inWindow(shared, plan, byte);
  if (!there)
    return;
  Value at = add(plan.thread, int32(byte - shared.begin));
  // A thread whose element is padding, or in another window, reads the first one.
  if (Value inside = both(inTile(layout, number), *there))
    at = arith::SelectOp::create(b_, loc_, inside, at,
                                 int32(shared.isWhole() ? plan.base : shared.base));
  if (step_)
    at = add(at, step_);
  Type word =
      plan.vector == 1 ? shared.element : Type(VectorType::get({plan.vector}, shared.element));
  Value loaded = SharedLoadOp::create(b_, loc_, word, at);
  for (auto [into, value] : llvm::zip_equal(taken, scalarsOf(loaded, plan.vector))) {
    if (value.getType() != element)
      value = arith::TruncIOp::create(b_, loc_, element, value);
    into =
        *there && into ? arith::SelectOp::create(b_, loc_, *there, value, into).getResult() : value;
  }
}

void Distributor::take(const SharedTile &shared, const SimtLayout &layout, Registers &registers,
                       Type element, ArrayRef<int64_t> offset, ArrayRef<int64_t> axes) {
  SharedPlan plan = planOf(shared, layout, offset, axes);
  registers.resize(layout.registers());
  for (int64_t number = 0; number < layout.registers(); number += plan.vector)
    takePiece(shared, plan, layout, registers, element, number);
}

LogicalResult Distributor::exchange(Operation *op, const SharedTile &memory,
                                    llvm::function_ref<void(const SharedTile &)> write,
                                    llvm::function_ref<void(const SharedTile &)> read) {
  FailureOr<SmallVector<SharedTile>> windows = windowsOf(op, memory);
  if (failed(windows))
    return failure();
  for (const SharedTile &window : *windows) {
    claimShared();
    write(window);
    barrier();
    read(window);
  }
  return success();
}

FailureOr<Distributor::Registers> Distributor::throughShared(Operation *op, const SimtLayout &from,
                                                             ArrayRef<Value> registers,
                                                             const SimtLayout &to,
                                                             ArrayRef<int64_t> memoryShape,
                                                             ArrayRef<int64_t> toOffset) {
  Type element = registers.front().getType();
  SmallVector<int64_t> zeros(memoryShape.size(), 0);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(memoryShape.size())));
  Registers moved;
  if (failed(exchange(
          op, placed(memoryShape, element, 0),
          [&](const SharedTile &at) { put(at, from, registers, zeros, axes); },
          [&](const SharedTile &at) { take(at, to, moved, element, toOffset, axes); })))
    return failure();
  return moved;
}

} // namespace sinter::sched
