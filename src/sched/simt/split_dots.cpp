// The instruction multiplies any elements of K with one another as long as both operands agree, so
// that K's bits are dealt out as memory has them: to registers first, then to lanes, then to
// subgroups.
#include "sched/simt/split_dots.h"
#include "numeric/formats/word_packing.h"
#include "sched/simt/add_shares.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/prefetch_loads.h"

#include <numeric>

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kMostShares = 8;
// Rows of a matmul by groups whose subgroups share K, and of one whose subgroups share b's rows.
static constexpr int64_t kMostRowsOfShares = 32, kMostRowsOfGroups = 64;

static RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// ---- the instruction's bits along K ----

namespace {
/// Bits of an instruction's K, those that registers have and those that lanes have.
struct DepthBits {
  SmallVector<int> registers, lanes;
  bool operator==(const DepthBits &) const = default;
};
} // namespace

static DepthBits depthBitsOf(const SimtLayout &fragment, int axis) {
  DepthBits bits;
  auto gather = [&](ArrayRef<LayoutBit> from, SmallVector<int> &to) {
    for (LayoutBit bit : from)
      if (bit.axis == axis)
        to.push_back(bit.bit);
    llvm::sort(to);
  };
  gather(fragment.registerBits(), bits.registers);
  gather(fragment.threadBits(), bits.lanes);
  return bits;
}

static bool takesElements(const MatrixInstruction &instruction, Type element) {
  auto is = [&](MatrixElement wanted) {
    return instruction.aElement == wanted && instruction.bElement == wanted;
  };
  return instruction.cElement == MatrixElement::F32 &&
         (element.isF16() ? is(MatrixElement::F16) : element.isBF16() && is(MatrixElement::BF16));
}

// One of a subgroup's own, both of whose operands share K alike, on whole tiles; `turned`: with b
// as its left operand.
static const MatrixInstruction *findInstruction(tile::DotOp dot, const SimtFacts &facts,
                                                bool turned) {
  Type element = tileType(dot.getA()).getElementType();
  if (element != tileType(dot.getB()).getElementType() || (turned && !element.isBF16()))
    return nullptr;
  SmallVector<int64_t> accumulators(tileType(dot.getResult()).getShape());
  if (turned)
    std::swap(accumulators[0], accumulators[1]);
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (found && !found->isAsynchronous() && !found->opaqueAccumulators &&
        found->lanes == facts.subgroup && takesElements(*found, element) &&
        accumulators[0] % found->m == 0 && accumulators[1] % found->n == 0 &&
        !found->layoutA().copies() &&
        depthBitsOf(found->layoutA(), 1) == depthBitsOf(found->layoutB(), 0))
      return found;
  }
  return nullptr;
}

// ---- the tile's bits along K ----

// What b is made of, past conversions.
static Operation *sourceOf(Value tile) {
  Operation *maker = tile.getDefiningOp();
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp, tile::ConcatOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  return maker;
}

// Whether elements whose numbers differ in one bit have codes in the same byte of some plane.
static bool sharesBytes(const BlockFormat &format, uint32_t bit) {
  constexpr uint32_t kByte = 8;
  return llvm::any_of(format.code.used(), [&](const BitPlane &plane) {
    return plane.width < kByte && plane.map.weight[bit] < kByte;
  });
}

SmallVector<int64_t> registerBitsAlongK(const BlockFormat *format) {
  constexpr uint32_t kWordBits = 2, kLaneBits = 2;
  constexpr size_t kMostShared = 2;
  SmallVector<int64_t> shared;
  const bool single = format && format->runCount == 1 && format->runs[0].lanes == 1;
  for (uint32_t bit = kWordBits + 1; single && (1u << bit) < format->blockLength; ++bit)
    if (shared.size() < kMostShared && sharesBytes(*format, bit))
      shared.push_back(bit);
  // The bits between them are those of an instruction's lanes.
  if (!shared.empty() &&
      shared.back() > static_cast<int64_t>(kWordBits + kLaneBits + shared.size()))
    shared.clear();
  SmallVector<int64_t> bits{0, 1};
  llvm::append_range(bits, shared);
  bits.push_back(kWordBits);
  return bits;
}

int64_t unitAlongK(const BlockFormat *format) {
  constexpr size_t kLaneBits = 2; // of the instructions that multiply few rows
  return int64_t(1) << (registerBitsAlongK(format).size() + kLaneBits);
}

int64_t groupAlongK(const BlockFormat &format) {
  const int64_t scale = format.scale.groupLength();
  return format.min.present() ? std::gcd(scale, int64_t{format.min.groupLength()}) : scale;
}

int64_t leastUnitOfGroups(const BlockFormat &format) {
  return std::max<int64_t>(groupAlongK(format), format.blockLength);
}

int64_t unitOfGroups(const BlockFormat &format, int64_t step) {
  constexpr int64_t kEnough = 128;
  int64_t unit = leastUnitOfGroups(format);
  while (unit < kEnough && step % (2 * unit * kMostShares) == 0)
    unit *= 2;
  return unit;
}

SmallVector<int64_t> registerBitsOfGroups(int64_t unit) {
  constexpr int64_t kWordBits = 2, kLaneBits = 2;
  SmallVector<int64_t> bits{0, 1};
  for (int64_t bit = kWordBits + kLaneBits; int64_t(1) << bit < unit; ++bit)
    bits.push_back(bit);
  return bits;
}

static tile::ViewType viewOf(BlockLoadOp load) {
  return cast<tile::ViewType>(load.getView().getType());
}

static const BlockFormat *formatOf(Value b) {
  auto load = dyn_cast_or_null<BlockLoadOp>(sourceOf(b));
  auto type = load ? dyn_cast<tile::BlockType>(viewOf(load).getElementType()) : tile::BlockType();
  return type ? tile::blockFormatOf(type) : nullptr;
}

// The format of words that b is dequantized from; else null.
static const BlockFormat *wordsOf(Value b) {
  auto load = dyn_cast_or_null<BlockLoadOp>(sourceOf(b));
  const bool words =
      load && load.getField() == "value" && viewOf(load).getInterleave() == kWordRows;
  return words ? formatOf(b) : nullptr;
}

// The lowest bits that are not in `taken`.
static SmallVector<int64_t> nextBits(ArrayRef<int64_t> taken, size_t count) {
  SmallVector<int64_t> bits;
  for (int64_t bit = 0; bits.size() < count; ++bit)
    if (!llvm::is_contained(taken, bit))
      bits.push_back(bit);
  return bits;
}

// ---- layouts ----

// How subgroups share the work: K, and rows of b beside one another.
namespace {
struct Subgroups {
  int64_t shares = 1, beside = 1;
};
} // namespace

// Bits that count `count` subgroups along an axis from `first` on; copies where the axis is none.
static void addSubgroups(SmallVector<LayoutBit> &threads, int64_t count, int axis, int first) {
  for (int bit = 0; (int64_t(1) << bit) < count; ++bit)
    threads.push_back(axis < 0 ? LayoutBit() : LayoutBit{axis, first + bit});
}

static SimtLayout operandLayout(const SplitSimt &lanes, const SimtLayout &fragment, int depthAxis,
                                ArrayRef<int64_t> depth, ArrayRef<int64_t> shape,
                                const Subgroups &subgroups, bool besideRows = false) {
  auto placed = [&](LayoutBit bit) {
    return bit.axis == depthAxis ? LayoutBit{1, static_cast<int>(lanes.depthBits[bit.bit])}
                                 : LayoutBit{0, bit.bit};
  };
  SmallVector<LayoutBit> registers, threads;
  for (int64_t bit : depth)
    registers.push_back({1, static_cast<int>(bit)});
  for (LayoutBit bit : fragment.registerBits())
    if (bit.axis != depthAxis)
      registers.push_back(placed(bit));
  size_t used = depth.size();
  for (LayoutBit bit : fragment.threadBits()) {
    threads.push_back(placed(bit));
    used += bit.axis == depthAxis;
  }
  addSubgroups(threads, subgroups.shares, 1, static_cast<int>(used));
  addSubgroups(threads, subgroups.beside, besideRows ? 0 : -1,
               static_cast<int>(llvm::Log2_64(fragment.atom(1 - depthAxis))));
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

// `axes` of the accumulators are the fragment's.
static SimtLayout accumulatorsLayout(const SimtLayout &fragment, ArrayRef<int64_t> shape,
                                     std::array<int, 2> axes, int64_t beside = 1) {
  auto below = [&](ArrayRef<LayoutBit> bits) {
    return llvm::map_to_vector(bits, [&](LayoutBit bit) {
      return bit.axis < 0 ? bit : LayoutBit{axes[bit.axis], bit.bit};
    });
  };
  SmallVector<LayoutBit> threads = below(fragment.threadBits());
  addSubgroups(threads, shape[0], 0, 0);
  addSubgroups(threads, beside, axes[0], static_cast<int>(llvm::Log2_64(fragment.atom(0))));
  return SimtLayout(shape, SmallVector<LayoutBit>(below(fragment.registerBits())),
                    std::move(threads));
}

// Which bit of K each of the instruction's is, and which are left to registers.
static void dealDepth(SplitSimt &lanes, ArrayRef<int64_t> depth) {
  DepthBits bits = depthBitsOf(lanes.instruction->layoutA(), 1);
  lanes.depthBits.assign(bits.registers.size() + bits.lanes.size(), 0);
  for (auto [bit, to] : llvm::zip(bits.registers, depth))
    lanes.depthBits[bit] = to;
  for (auto [bit, to] : llvm::zip_equal(bits.lanes, nextBits(depth, bits.lanes.size())))
    lanes.depthBits[bit] = to;
  lanes.moreBits.assign(depth.begin() + static_cast<int64_t>(bits.registers.size()), depth.end());
}

SplitSimt splitSimt(SplitDotOp dot) {
  const MatrixInstruction *instruction = findMatrixInstruction(dot.getInstruction());
  ArrayRef<int64_t> depth = dot.getDepth(), accumulators = tileType(dot.getResult()).getShape();
  SplitSimt lanes{instruction,
                  instruction->layoutA(),
                  instruction->layoutB(),
                  accumulatorsLayout(instruction->layoutC(), accumulators, {1, 2}),
                  {},
                  {}};
  dealDepth(lanes, depth);
  const Subgroups subgroups{accumulators[0]};
  lanes.a = operandLayout(lanes, instruction->layoutA(), 1, depth, tileType(dot.getA()).getShape(),
                          subgroups);
  lanes.b = operandLayout(lanes, instruction->layoutB(), 0, depth, tileType(dot.getB()).getShape(),
                          subgroups);
  return lanes;
}

// Coordinates along axis 1 that count `1 << bits` of them; those below are copies or not there.
static SimtLayout coarsened(const SimtLayout &layout, ArrayRef<int64_t> shape, int bits) {
  SmallVector<LayoutBit> registers, threads;
  for (LayoutBit bit : layout.registerBits())
    if (bit.axis != 1 || bit.bit >= bits)
      registers.push_back(bit.axis == 1 ? LayoutBit{1, bit.bit - bits} : bit);
  for (LayoutBit bit : layout.threadBits())
    threads.push_back(bit.axis != 1     ? bit
                      : bit.bit >= bits ? LayoutBit{1, bit.bit - bits}
                                        : LayoutBit());
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

GroupSimt groupSimt(GroupDotOp dot) {
  const MatrixInstruction *instruction = findMatrixInstruction(dot.getInstruction());
  ArrayRef<int64_t> depth = dot.getDepth(), accumulators = tileType(dot.getResult()).getShape(),
                    a = tileType(dot.getA()).getShape(),
                    scale = tileType(dot.getScale()).getShape();
  SplitSimt lanes{instruction,
                  instruction->layoutB(),
                  instruction->layoutA(),
                  accumulatorsLayout(instruction->layoutC(), accumulators, {2, 1}, dot.getBeside()),
                  {},
                  {}};
  dealDepth(lanes, depth);
  const Subgroups subgroups{accumulators[0], static_cast<int64_t>(dot.getBeside())};
  lanes.a = operandLayout(lanes, instruction->layoutB(), 0, depth, a, subgroups);
  lanes.b = operandLayout(lanes, instruction->layoutA(), 1, depth, {scale[0], a[1]}, subgroups,
                          /*besideRows=*/true);
  const int64_t group = a[1] / scale[1];
  SimtLayout pairs = coarsened(lanes.b, {scale[0], a[1] / 2}, 1),
             scales = coarsened(lanes.b, scale, llvm::Log2_64(group));
  return {lanes, pairs, scales, group};
}

// ---- the pass ----

namespace {
struct Split {
  tile::DotOp dot;
  scf::ForOp loop; // that adds up its steps; null where there is one step
  const MatrixInstruction *instruction = nullptr;
  SmallVector<int64_t> depth;
  Subgroups subgroups;
  const BlockFormat *words = nullptr; // that a matmul by groups reads
};
} // namespace

// Whether the matmul alone adds to accumulators that begin at zero, in `split.loop` or at once.
static bool beginsAtZero(Split &split) {
  Value acc = split.dot.getAcc();
  if (auto argument = dyn_cast<BlockArgument>(acc)) {
    split.loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    OpOperand *init = split.loop ? split.loop.getTiedLoopInit(argument) : nullptr;
    if (!init || split.dot->getParentOp() != split.loop || !argument.hasOneUse() ||
        !split.dot->hasOneUse() ||
        split.loop.getTiedLoopYieldedValue(argument)->get() != split.dot.getResult())
      return false;
    acc = init->get();
  }
  return matchPattern(acc, m_AnyZeroFloat());
}

// Whether the matmul's loop takes one share of K in a loop over shares, a whole unit of blocks a
// step.
static bool addsSharesInTurn(tile::DotOp dot, const BlockFormat &format) {
  const int64_t unit = tileType(dot.getA()).getDimSize(1);
  return isOfShares(dyn_cast<scf::ForOp>(dot->getParentOp()), unit) && llvm::isPowerOf2_64(unit) &&
         unit >= leastUnitOfGroups(format);
}

bool multipliesGroups(tile::DotOp dot, const SimtFacts &facts) {
  const int64_t rows = tileType(dot.getA()).getDimSize(0);
  const BlockFormat *words = wordsOf(dot.getB());
  return facts.sharesDepth && words &&
         rows <= (addsSharesInTurn(dot, *words) ? kMostRowsOfGroups : kMostRowsOfShares) &&
         findInstruction(dot, facts, /*turned=*/true);
}

// What of K and of b's rows each subgroup has.
static void dealSubgroups(Split &split) {
  auto a = tileType(split.dot.getA()), accumulators = tileType(split.dot.getResult());
  const int64_t length = a.getDimSize(1);
  const bool inTurn = split.words && addsSharesInTurn(split.dot, *split.words);
  if (!split.words)
    split.depth = registerBitsAlongK(formatOf(split.dot.getB()));
  else
    split.depth = registerBitsOfGroups(inTurn ? length : unitOfGroups(*split.words, length));
  if (inTurn) {
    const int64_t rows = accumulators.getDimSize(1) / split.instruction->m;
    split.subgroups.beside = std::min(kMostShares, rows & -rows);
    return;
  }
  DepthBits bits = depthBitsOf(split.instruction->layoutA(), 1);
  const int64_t unit = int64_t(1) << (split.depth.size() + bits.lanes.size());
  const int64_t units = llvm::divideCeil(length, unit);
  split.subgroups.shares =
      std::min(kMostShares, static_cast<int64_t>(llvm::bit_floor<uint64_t>(units)));
}

static std::optional<Split> match(tile::KernelOp kernel, const SimtFacts &facts) {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  if (!facts.sharesDepth || dots.size() != 1)
    return std::nullopt;
  Split split;
  split.dot = dots.front();
  const bool groups = multipliesGroups(split.dot, facts);
  split.words = groups ? wordsOf(split.dot.getB()) : nullptr;
  if (!(groups || hasSmallM(split.dot)) || !split.dot.getTransposeB() || !beginsAtZero(split))
    return std::nullopt;
  split.instruction = findInstruction(split.dot, facts, groups);
  if (!split.instruction)
    return std::nullopt;
  dealSubgroups(split);
  return split;
}

// A part of the blocks that b is dequantized from, one element for each `length`.
static Value partOf(OpBuilder &b, Value tile, StringRef field, Type element, int64_t length) {
  Operation *maker = tile.getDefiningOp();
  SmallVector<int64_t> shape(tileType(tile).getShape());
  shape[1] /= length;
  auto type = RankedTensorType::get(shape, element);
  if (auto concat = dyn_cast<tile::ConcatOp>(maker)) {
    SmallVector<Value> parts;
    for (Value part : concat.getValues())
      parts.push_back(partOf(b, part, field, element, length));
    return tile::ConcatOp::create(b, tile.getLoc(), type, parts, concat.getAxis());
  }
  if (auto load = dyn_cast<BlockLoadOp>(maker))
    return BlockLoadOp::create(b, tile.getLoc(), type, field, load.getView(), load.getOffsets());
  return partOf(b, maker->getOperand(0), field, element, length);
}

static Value multiply(OpBuilder &b, const Split &split, RankedTensorType type, Value acc) {
  tile::DotOp dot = split.dot;
  if (!split.words)
    return SplitDotOp::create(b, dot.getLoc(), type, split.instruction->name, split.depth,
                              dot.getA(), dot.getB(), acc);
  auto part = [&](StringRef field, Type element, int64_t length) {
    return partOf(b, dot.getB(), field, element, length);
  };
  const int64_t group = groupAlongK(*split.words);
  Value numbers = part("numbers", b.getI32Type(), 2);
  Value scale = part("group_scale", b.getF32Type(), group);
  Value min = split.words->min.present() ? part("group_min", b.getF32Type(), group) : Value();
  return GroupDotOp::create(b, dot.getLoc(), type, split.instruction->name, split.depth, dot.getA(),
                            numbers, scale, min, acc,
                            static_cast<uint64_t>(split.subgroups.beside));
}

// What made a tile that is no longer multiplied.
static void eraseUnused(Value tile) {
  Operation *maker = tile.getDefiningOp();
  if (!maker->use_empty())
    return;
  SmallVector<Value> operands(maker->getOperands());
  const bool loads = isa<BlockLoadOp>(maker);
  maker->erase();
  if (!loads)
    llvm::for_each(operands, eraseUnused);
}

static void rewrite(Split &split) {
  tile::DotOp dot = split.dot;
  auto accumulators = tileType(dot.getResult());
  SmallVector<int64_t> shape{split.subgroups.shares};
  llvm::append_range(shape, accumulators.getShape());
  RankedTensorType type = accumulators.clone(shape);
  OpBuilder b(split.loop ? split.loop.getOperation() : dot.getOperation());
  Value acc = arith::ConstantOp::create(b, dot.getLoc(), b.getZeroAttr(type));
  if (split.loop) {
    auto argument = cast<BlockArgument>(dot.getAcc());
    split.loop.getTiedLoopInit(argument)->set(acc);
    argument.setType(type);
    acc = argument;
  }
  b.setInsertionPoint(dot);
  Value result = multiply(b, split, type, acc);
  Value whole = dot.getResult();
  if (split.loop) {
    OpResult ended = split.loop.getTiedLoopResult(cast<BlockArgument>(acc));
    dot.getResult().replaceAllUsesWith(result);
    ended.setType(type);
    whole = result = ended;
    b.setInsertionPointAfter(split.loop);
  }
  auto joined = JoinSharesOp::create(b, dot.getLoc(), accumulators, result);
  whole.replaceAllUsesExcept(joined.getResult(), joined);
  Value values = dot.getB();
  dot.erase();
  if (split.words)
    eraseUnused(values);
}

int64_t splitDots(tile::KernelOp kernel, const SimtFacts &facts) {
  std::optional<Split> split = match(kernel, facts);
  if (!split)
    return 0;
  rewrite(*split);
  kernel->setAttr(kReadsAhead, UnitAttr::get(kernel.getContext()));
  return split->subgroups.shares * split->subgroups.beside * split->instruction->lanes;
}

} // namespace sinter::sched
