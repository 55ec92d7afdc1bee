// The attribute #sched.layout and its arithmetic.
#include "sched/simt/layout.h"
#include "base/check.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::sched {

int64_t blocksOf(tile::KernelOp kernel) {
  auto blocks = kernel->getAttrOfType<IntegerAttr>(kBlocksName);
  return blocks ? blocks.getInt() : 1;
}

FailureOr<int64_t> threadsOf(tile::KernelOp kernel, int64_t most) {
  auto threads = kernel->getAttrOfType<IntegerAttr>(kThreadsName);
  if (!threads || threads.getInt() < 1 || threads.getInt() > most ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(threads.getInt())))
    return kernel.emitOpError() << "has " << kThreadsName << " = " << kernel->getAttr(kThreadsName)
                                << ", expected a power of two of at most " << most;
  return threads.getInt();
}

int32_t encodeLayoutBit(LayoutBit bit) {
  return bit.axis < 0 ? -1 : bit.axis * kBitsPerAxis + bit.bit;
}

LayoutBit decodeLayoutBit(int32_t number) {
  return number < 0 ? LayoutBit() : LayoutBit{number / kBitsPerAxis, number % kBitsPerAxis};
}

SimtLayout::SimtLayout(ArrayRef<int64_t> shape, SmallVector<LayoutBit> registers,
                       SmallVector<LayoutBit> threads)
    : shape_(shape), registers_(std::move(registers)), threads_(std::move(threads)),
      atomBits_(shape.size(), 0) {
  for (const auto *bits : {&registers_, &threads_})
    for (LayoutBit bit : *bits)
      if (bit.axis >= 0)
        atomBits_[bit.axis] = std::max(atomBits_[bit.axis], bit.bit + 1);
}

SimtLayout SimtLayout::of(Type type) {
  auto tile = cast<RankedTensorType>(type);
  auto lanes = dyn_cast_or_null<SimtLayoutAttr>(tile.getEncoding());
  SINTER_CHECK(lanes);
  SmallVector<LayoutBit> registers, threads;
  llvm::transform(lanes.getRegisters(), std::back_inserter(registers), decodeLayoutBit);
  llvm::transform(lanes.getThreads(), std::back_inserter(threads), decodeLayoutBit);
  return SimtLayout(tile.getShape(), std::move(registers), std::move(threads));
}

SimtLayout SimtLayout::blocked(ArrayRef<int64_t> shape, int64_t threads, int64_t subgroup, int axis,
                               int vectorBits) {
  SmallVector<LayoutBit> registers, threadBits;
  SmallVector<int> used(shape.size(), 0);
  for (int bit = 0; bit < vectorBits; ++bit)
    registers.push_back({axis, used[axis]++});
  int left = llvm::Log2_64(threads);
  auto spread = [&](int along, int most) {
    for (; left && most && (int64_t(1) << used[along]) < shape[along]; --left, --most)
      threadBits.push_back({along, used[along]++});
  };
  spread(axis, llvm::Log2_64(subgroup));
  for (int other = static_cast<int>(shape.size()) - 1; other >= 0; --other)
    if (other != axis)
      spread(other, left);
  spread(axis, left);
  threadBits.append(left, LayoutBit());
  return SimtLayout(shape, std::move(registers), std::move(threadBits));
}

SimtLayoutAttr SimtLayout::attribute(MLIRContext *context) const {
  SmallVector<int32_t> registers, threads;
  llvm::transform(registers_, std::back_inserter(registers), encodeLayoutBit);
  llvm::transform(threads_, std::back_inserter(threads), encodeLayoutBit);
  return SimtLayoutAttr::get(context, registers, threads);
}

RankedTensorType SimtLayout::encode(RankedTensorType tile) const {
  return RankedTensorType::get(tile.getShape(), tile.getElementType(),
                               attribute(tile.getContext()));
}

int64_t SimtLayout::registers() const {
  int64_t count = int64_t(1) << registers_.size();
  for (int axis = 0; axis < rank(); ++axis)
    count *= repeats(axis);
  return count;
}

static void addBits(ArrayRef<LayoutBit> bits, int64_t number, SmallVector<int64_t> &coords) {
  for (auto [at, bit] : llvm::enumerate(bits))
    if (bit.axis >= 0 && (number >> at & 1))
      coords[bit.axis] += int64_t(1) << bit.bit;
}

SmallVector<int64_t> SimtLayout::registerCoords(int64_t number) const {
  SmallVector<int64_t> coords(shape_.size(), 0);
  addBits(registers_, number, coords);
  number >>= registers_.size();
  for (int axis = rank() - 1; axis >= 0; --axis) {
    coords[axis] += number % repeats(axis) * atom(axis);
    number /= repeats(axis);
  }
  return coords;
}

SmallVector<int64_t> SimtLayout::threadCoords(int64_t thread) const {
  SmallVector<int64_t> coords(shape_.size(), 0);
  addBits(threads_, thread, coords);
  return coords;
}

int64_t SimtLayout::registerAt(ArrayRef<int64_t> coords) const {
  int64_t number = 0, low = 0;
  for (int axis = 0; axis < rank(); ++axis)
    number = number * repeats(axis) + coords[axis] / atom(axis);
  for (auto [at, bit] : llvm::enumerate(registers_))
    low |= (coords[bit.axis] >> bit.bit & 1) << at;
  return number << registers_.size() | low;
}

int64_t SimtLayout::copies() const {
  int64_t mask = 0;
  for (auto [at, bit] : llvm::enumerate(threads_))
    if (bit.axis < 0)
      mask |= int64_t(1) << at;
  return mask;
}

int64_t SimtLayout::vector(int axis) const {
  int64_t run = 1;
  for (int at = 0;
       at < static_cast<int>(registers_.size()) && registers_[at] == LayoutBit{axis, at}; ++at)
    run *= 2;
  return run;
}

SimtLayout SimtLayout::reduced(int axis) const {
  SmallVector<int64_t> shape(shape_);
  shape[axis] = 1;
  SmallVector<LayoutBit> registers, threads(threads_);
  llvm::copy_if(registers_, std::back_inserter(registers),
                [&](LayoutBit bit) { return bit.axis != axis; });
  for (LayoutBit &bit : threads)
    if (bit.axis == axis)
      bit = LayoutBit();
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

SimtLayout SimtLayout::permuted(ArrayRef<int64_t> order) const {
  SmallVector<int64_t> shape(shape_.size()), place(shape_.size());
  for (auto [at, from] : llvm::enumerate(order)) {
    shape[at] = shape_[from];
    place[from] = static_cast<int64_t>(at);
  }
  auto moved = [&](SmallVector<LayoutBit> bits) {
    for (LayoutBit &bit : bits)
      if (bit.axis >= 0)
        bit.axis = static_cast<int>(place[bit.axis]);
    return bits;
  };
  return SimtLayout(shape, moved(registers_), moved(threads_));
}

namespace {
/// Matches the axes of two shapes from the last to the first and says where each axis' bits go.
struct AxisMatcher {
  const SimtLayout &from;
  ArrayRef<int64_t> to;
  SmallVector<SmallVector<LayoutBit>> bits; // of each axis of `from`

  bool match();

private:
  void give(int axis, int target, int firstBit, int count) {
    for (int bit = 0; bit < count; ++bit)
      bits[axis].push_back({target, firstBit + bit});
  }
  int left(int axis) { // bits of the atom that have no place yet
    return static_cast<int>(llvm::Log2_64(from.atom(axis)) - bits[axis].size());
  }
};
} // namespace

bool AxisMatcher::match() {
  bits.resize(from.rank());
  int i = from.rank() - 1, j = static_cast<int>(to.size()) - 1;
  int64_t a = i < 0 ? 1 : from.shape()[i], c = j < 0 ? 1 : to[j];
  int below = 0; // bits of axis j that axes after i have
  while (i >= 0 || j >= 0) {
    if (i >= 0 && j >= 0 && a == c) {
      give(i, j, below, left(i));
      below = 0;
      a = --i < 0 ? 1 : from.shape()[i];
      c = --j < 0 ? 1 : to[j];
    } else if (j >= 0 && c == 1 && below == 0) {
      c = --j < 0 ? 1 : to[j];
    } else if (i >= 0 && a == 1 && left(i) == 0) {
      a = --i < 0 ? 1 : from.shape()[i];
    } else if (i >= 0 && j >= 0 && a > c && a % c == 0 && llvm::isPowerOf2_64(c) &&
               (int64_t(1) << left(i)) >= c) {
      give(i, j, below, static_cast<int>(llvm::Log2_64(c)));
      below = 0;
      a /= c;
      c = --j < 0 ? 1 : to[j];
    } else if (i >= 0 && j >= 0 && a < c && c % a == 0 && llvm::isPowerOf2_64(a) &&
               (int64_t(1) << left(i)) == a) {
      below += left(i);
      give(i, j, below - left(i), left(i));
      c /= a;
      a = --i < 0 ? 1 : from.shape()[i];
    } else {
      return false;
    }
  }
  return true;
}

std::optional<SimtLayout> SimtLayout::reshaped(ArrayRef<int64_t> shape) const {
  AxisMatcher matcher{*this, shape, {}};
  if (!matcher.match())
    return std::nullopt;
  auto moved = [&](SmallVector<LayoutBit> all) {
    for (LayoutBit &bit : all)
      if (bit.axis >= 0)
        bit = matcher.bits[bit.axis][bit.bit];
    return all;
  };
  return SimtLayout(shape, moved(registers_), moved(threads_));
}

std::optional<SimtLayout> SimtLayout::ofPart(ArrayRef<int64_t> shape, int axis) const {
  const int64_t extent = shape[axis];
  if (extent % atom(axis) == 0)
    return withShape(shape);
  auto isAbove = [&](LayoutBit bit) {
    return bit.axis == axis && (int64_t(1) << bit.bit) >= extent;
  };
  if (!llvm::isPowerOf2_64(extent) || llvm::any_of(threads_, isAbove))
    return std::nullopt;
  SmallVector<LayoutBit> registers;
  llvm::copy_if(registers_, std::back_inserter(registers), std::not_fn(isAbove));
  return SimtLayout(shape, std::move(registers), threads_);
}

SimtLayout SimtLayout::withShape(ArrayRef<int64_t> shape) const {
  return SimtLayout(shape, registers_, threads_);
}

Result<layout::Layout> SimtLayout::toLayout() const {
  SmallVector<uint64_t> columns;
  SmallVector<uint32_t> base;
  uint32_t outBits = 0;
  for (int bits : atomBits_) {
    base.push_back(outBits);
    outBits += static_cast<uint32_t>(bits);
  }
  for (const auto *bits : {&registers_, &threads_})
    for (LayoutBit bit : *bits)
      columns.push_back(bit.axis < 0 ? 0 : uint64_t(1) << (base[bit.axis] + bit.bit));
  std::vector<layout::Dim> ins{
      {"register", static_cast<uint64_t>(registers()), static_cast<uint32_t>(registers_.size())},
      {"thread", static_cast<uint64_t>(threads()), static_cast<uint32_t>(threads_.size())}};
  std::vector<layout::Dim> outs;
  std::vector<layout::Repeat> repeats;
  for (int axis = 0; axis < rank(); ++axis)
    outs.push_back({"axis" + std::to_string(axis), static_cast<uint64_t>(shape_[axis]),
                    static_cast<uint32_t>(atomBits_[axis])});
  for (int axis = rank() - 1; axis >= 0; --axis)
    repeats.push_back(
        {0, static_cast<uint64_t>(this->repeats(axis)), static_cast<uint32_t>(axis), 1});
  SINTER_ASSIGN(auto atom, layout::LinearMap::fromColumns(
                               std::vector<uint64_t>(columns.begin(), columns.end()), outBits));
  return layout::Layout::make(std::move(ins), std::move(outs), std::move(atom), std::move(repeats));
}

} // namespace sinter::sched
