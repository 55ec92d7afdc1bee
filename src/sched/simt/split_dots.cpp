// The instruction multiplies any elements of K with one another as long as both operands agree, so
// that K's bits are dealt out as memory has them: to registers first, then to lanes, then to
// subgroups.
#include "sched/simt/split_dots.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/prefetch_loads.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kMostShares = 8;

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

// One of a subgroup's own, both of whose operands share K alike, on whole tiles.
static const MatrixInstruction *findInstruction(tile::DotOp dot, const SimtFacts &facts) {
  Type element = tileType(dot.getA()).getElementType();
  if (element != tileType(dot.getB()).getElementType())
    return nullptr;
  ArrayRef<int64_t> accumulators = tileType(dot.getResult()).getShape();
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

static const BlockFormat *formatOf(Value b) {
  auto load = dyn_cast_or_null<BlockLoadOp>(sourceOf(b));
  auto type = load ? dyn_cast<tile::BlockType>(
                         cast<tile::ViewType>(load.getView().getType()).getElementType())
                   : tile::BlockType();
  return type ? tile::blockFormatOf(type) : nullptr;
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

static SimtLayout operandLayout(const SplitSimt &lanes, const SimtLayout &fragment, int depthAxis,
                                ArrayRef<int64_t> depth, ArrayRef<int64_t> shape, int64_t shares) {
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
  for (int share = 0; (int64_t(1) << share) < shares; ++share)
    threads.push_back({1, static_cast<int>(used) + share});
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

static SimtLayout accumulatorsLayout(const SimtLayout &fragment, ArrayRef<int64_t> shape) {
  auto below = [](ArrayRef<LayoutBit> bits) {
    return llvm::map_to_vector(
        bits, [](LayoutBit bit) { return bit.axis < 0 ? bit : LayoutBit{bit.axis + 1, bit.bit}; });
  };
  SmallVector<LayoutBit> threads = below(fragment.threadBits());
  for (int share = 0; (int64_t(1) << share) < shape[0]; ++share)
    threads.push_back({0, share});
  return SimtLayout(shape, SmallVector<LayoutBit>(below(fragment.registerBits())),
                    std::move(threads));
}

SplitSimt splitSimt(SplitDotOp dot) {
  const MatrixInstruction *instruction = findMatrixInstruction(dot.getInstruction());
  ArrayRef<int64_t> depth = dot.getDepth(), accumulators = tileType(dot.getResult()).getShape();
  DepthBits bits = depthBitsOf(instruction->layoutA(), 1);
  SplitSimt lanes{instruction,
                  instruction->layoutA(),
                  instruction->layoutB(),
                  accumulatorsLayout(instruction->layoutC(), accumulators),
                  {},
                  {}};
  lanes.depthBits.assign(bits.registers.size() + bits.lanes.size(), 0);
  for (auto [bit, to] : llvm::zip(bits.registers, depth))
    lanes.depthBits[bit] = to;
  for (auto [bit, to] : llvm::zip_equal(bits.lanes, nextBits(depth, bits.lanes.size())))
    lanes.depthBits[bit] = to;
  lanes.moreBits.assign(depth.begin() + static_cast<int64_t>(bits.registers.size()), depth.end());
  lanes.a = operandLayout(lanes, instruction->layoutA(), 1, depth, tileType(dot.getA()).getShape(),
                          accumulators[0]);
  lanes.b = operandLayout(lanes, instruction->layoutB(), 0, depth, tileType(dot.getB()).getShape(),
                          accumulators[0]);
  return lanes;
}

// ---- the pass ----

namespace {
struct Split {
  tile::DotOp dot;
  scf::ForOp loop; // that adds up its steps; null where there is one step
  const MatrixInstruction *instruction = nullptr;
  SmallVector<int64_t> depth;
  int64_t shares = 1;
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

static std::optional<Split> match(tile::KernelOp kernel, const SimtFacts &facts) {
  SmallVector<tile::DotOp> dots;
  kernel.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  if (!facts.sharesDepth || dots.size() != 1)
    return std::nullopt;
  Split split;
  split.dot = dots.front();
  if (!hasSmallM(split.dot) || !split.dot.getTransposeB() || !beginsAtZero(split))
    return std::nullopt;
  split.instruction = findInstruction(split.dot, facts);
  if (!split.instruction)
    return std::nullopt;
  split.depth = registerBitsAlongK(formatOf(split.dot.getB()));
  DepthBits bits = depthBitsOf(split.instruction->layoutA(), 1);
  const int64_t unit = int64_t(1) << (split.depth.size() + bits.lanes.size());
  const int64_t units = llvm::divideCeil(tileType(split.dot.getA()).getDimSize(1), unit);
  split.shares = std::min(kMostShares, static_cast<int64_t>(llvm::bit_floor<uint64_t>(units)));
  return split;
}

static void rewrite(Split &split) {
  tile::DotOp dot = split.dot;
  auto accumulators = tileType(dot.getResult());
  SmallVector<int64_t> shape{split.shares};
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
  Value result = SplitDotOp::create(b, dot.getLoc(), type, split.instruction->name, split.depth,
                                    dot.getA(), dot.getB(), acc);
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
  dot.erase();
}

int64_t splitDots(tile::KernelOp kernel, const SimtFacts &facts) {
  std::optional<Split> split = match(kernel, facts);
  if (!split)
    return 0;
  rewrite(*split);
  kernel->setAttr(kReadsAhead, UnitAttr::get(kernel.getContext()));
  return split->shares * split->instruction->lanes;
}

} // namespace sinter::sched
