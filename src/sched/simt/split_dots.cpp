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
// Subgroups that share b's rows: a wide tile gives each of them several fragments of weights, which
// meet the same fragments of tokens.
static constexpr int64_t kMostBeside = 4;
// Rows of a matmul by groups whose subgroups share K, and of one whose subgroups share b's rows.
static constexpr int64_t kMostRowsOfShares = 32, kMostRowsOfGroups = 64;

static RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// ---- the instruction ----

namespace {
/// Bits of an instruction's K, ascending: those that both operands have in registers, and others.
struct DepthBits {
  SmallVector<int> common, others;
};
} // namespace

static bool isInRegisters(const SimtLayout &fragment, LayoutBit bit) {
  return llvm::is_contained(fragment.registerBits(), bit);
}

static DepthBits depthBitsOf(const MatrixInstruction &instruction) {
  const SimtLayout a = instruction.layoutA(), b = instruction.layoutB();
  DepthBits bits;
  for (int bit = 0; int64_t(1) << bit < instruction.k; ++bit)
    (isInRegisters(a, {1, bit}) && isInRegisters(b, {0, bit}) ? bits.common : bits.others)
        .push_back(bit);
  return bits;
}

// Whether a thread's elements and its accumulators are of the same rows (axis 0) or columns (1).
static bool liesAsAccumulators(const SimtLayout &fragment, const SimtLayout &accumulators,
                               int axis) {
  auto along = [&](LayoutBit bit) { return bit.axis == axis ? bit : LayoutBit(); };
  for (auto [own, sum] : llvm::zip_equal(fragment.threadBits(), accumulators.threadBits()))
    if (along(own) != along(sum))
      return false;
  return true;
}

// The operand that weights can be whose scales threads have beside accumulators, with pairs of
// neighbours along K: the left one (0) or the right one (1); -1: neither.
static int weightsOperand(const MatrixInstruction &instruction) {
  const SimtLayout fragments[] = {instruction.layoutA(), instruction.layoutB()};
  for (int side : {0, 1}) {
    ArrayRef<LayoutBit> registers = fragments[side].registerBits();
    if (!registers.empty() && registers.front() == LayoutBit{1 - side, 0} &&
        liesAsAccumulators(fragments[side], instruction.layoutC(), side))
      return side;
  }
  return -1;
}

// The operand that the weights are: of a matmul by groups that one, else the right one.
static int weightsOf(const MatrixInstruction &instruction, bool groups) {
  return groups ? weightsOperand(instruction) : 1;
}

static int64_t extentOf(const MatrixInstruction &instruction, int operand) {
  return operand == 0 ? instruction.m : instruction.n;
}

static int64_t tokensOf(const MatrixInstruction &instruction, bool groups) {
  return extentOf(instruction, 1 - weightsOf(instruction, groups));
}

static bool takesElements(const MatrixInstruction &instruction, MatrixElement element) {
  return instruction.cElement == MatrixElement::F32 && instruction.aElement == element &&
         instruction.bElement == element;
}

// A subgroup's own, of the fewest tokens, so that a row's bits do not depend on how many there are.
static const MatrixInstruction *instructionFor(const SimtFacts &facts, MatrixElement element,
                                               bool groups) {
  const MatrixInstruction *best = nullptr;
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (found && !found->isAsynchronous() && !found->opaqueAccumulators &&
        found->lanes == facts.subgroup && takesElements(*found, element) &&
        (!groups || weightsOperand(*found) >= 0) &&
        (!best || tokensOf(*found, groups) < tokensOf(*best, groups)))
      best = found;
  }
  return best;
}

DepthTile depthTile(const SimtFacts &facts, MatrixElement element, bool groups) {
  const MatrixInstruction *found = instructionFor(facts, element, groups);
  if (!found)
    return {};
  const int weights = weightsOf(*found, groups);
  int64_t part = 1;
  for (LayoutBit bit : (weights ? found->layoutB() : found->layoutA()).threadBits())
    if (bit.axis == weights)
      part = std::max(part, int64_t(2) << bit.bit);
  const DepthBits bits = depthBitsOf(*found);
  return {tokensOf(*found, groups), extentOf(*found, weights), part,
          static_cast<int64_t>(bits.common.size()), static_cast<int64_t>(bits.others.size())};
}

// One whose operands the matmul has, on whole tiles.
static const MatrixInstruction *findInstruction(tile::DotOp dot, const SimtFacts &facts,
                                                bool groups) {
  Type element = tileType(dot.getA()).getElementType();
  if (element != tileType(dot.getB()).getElementType() ||
      !(element.isBF16() || (element.isF16() && !groups)))
    return nullptr;
  ArrayRef<int64_t> accumulators = tileType(dot.getResult()).getShape();
  const MatrixInstruction *found =
      instructionFor(facts, element.isF16() ? MatrixElement::F16 : MatrixElement::BF16, groups);
  if (!found)
    return nullptr;
  const int weights = weightsOf(*found, groups);
  const bool whole = accumulators[0] % extentOf(*found, 1 - weights) == 0 &&
                     accumulators[1] % extentOf(*found, weights) == 0;
  return whole ? found : nullptr;
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

// The lowest bits that are not in `taken`.
static SmallVector<int64_t> nextBits(ArrayRef<int64_t> taken, size_t count) {
  SmallVector<int64_t> bits;
  for (int64_t bit = 0; bits.size() < count; ++bit)
    if (!llvm::is_contained(taken, bit))
      bits.push_back(bit);
  return bits;
}

SmallVector<int64_t> registerBitsAlongK(const BlockFormat *format, const DepthTile &tile) {
  constexpr uint32_t kWordBits = 2;
  constexpr size_t kMostShared = 2;
  SmallVector<int64_t> shared;
  const bool single = format && format->runCount == 1 && format->runs[0].lanes == 1;
  for (uint32_t bit = kWordBits + 1; single && (1u << bit) < format->blockLength; ++bit)
    if (shared.size() < kMostShared && sharesBytes(*format, bit))
      shared.push_back(bit);
  // The bits between them are the instruction's others.
  if (!shared.empty() &&
      shared.back() > kWordBits + tile.otherBits + static_cast<int64_t>(shared.size()))
    shared.clear();
  SmallVector<int64_t> bits{0, 1};
  llvm::append_range(bits, shared);
  bits.push_back(kWordBits);
  while (static_cast<int64_t>(bits.size()) < tile.registerBits)
    bits.push_back(nextBits(bits, 1).front());
  return bits;
}

int64_t unitAlongK(const BlockFormat *format, const DepthTile &tile) {
  return int64_t(1) << (registerBitsAlongK(format, tile).size() + tile.otherBits);
}

int64_t groupAlongK(const BlockFormat &format) {
  const int64_t scale = format.scale.groupLength();
  return format.min.present() ? std::gcd(scale, int64_t{format.min.groupLength()}) : scale;
}

int64_t leastUnitOfGroups(const BlockFormat &format) {
  return std::max<int64_t>(groupAlongK(format), format.blockLength);
}

// Twice as long as long as a step still has a unit for each share.
static int64_t grownUnit(int64_t unit, int64_t step) {
  constexpr int64_t kEnough = 128;
  while (unit < kEnough && step % (2 * unit * kMostShares) == 0)
    unit *= 2;
  return unit;
}

int64_t unitOfGroups(const BlockFormat &format, int64_t step) {
  return grownUnit(leastUnitOfGroups(format), step);
}

int64_t unitOfUnquantized(const DepthTile &tile, int64_t step) {
  return grownUnit(unitAlongK(nullptr, tile), step);
}

// Bits of an element's number along K that both operands hold in registers where weights are not
// words; of unquantized ones of a whole unit.
static SmallVector<int64_t> registerBitsOfStep(const BlockFormat *format, const DepthTile &tile,
                                               int64_t step) {
  SmallVector<int64_t> bits = registerBitsAlongK(format, tile);
  if (!format)
    while (int64_t(1) << (bits.size() + tile.otherBits) < unitOfUnquantized(tile, step))
      bits.push_back(static_cast<int64_t>(bits.size()) + tile.otherBits);
  return bits;
}

// Bits of an element's number along K that both operands hold in registers of such a unit of words.
// A thread has all of its weights' bits but those that lanes have of the instruction, the lowest
// ones above four neighbours: so what scales and codes share of a word is read once, and where it
// lies is known.
static SmallVector<int64_t> registerBitsOfGroups(int64_t unit,
                                                 const MatrixInstruction &instruction) {
  constexpr int64_t kWordBits = 2;
  const int weights = weightsOperand(instruction);
  const SimtLayout fragment = weights ? instruction.layoutB() : instruction.layoutA();
  const int64_t inLanes =
      llvm::count_if(fragment.threadBits(), [&](LayoutBit bit) { return bit.axis == 1 - weights; });
  SmallVector<int64_t> bits;
  for (int64_t bit = 0; int64_t(1) << bit < unit; ++bit)
    if (bit < kWordBits || bit >= kWordBits + inLanes)
      bits.push_back(bit);
  // What the weights alone have in registers are the lowest of them.
  const auto own = static_cast<int64_t>(depthBitsOf(instruction).others.size()) - inLanes;
  bits.erase(bits.begin(), bits.begin() + own);
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
                                const Subgroups &subgroups, bool besideRows = false,
                                int64_t copies = 1) {
  auto placed = [&](LayoutBit bit) {
    return bit.axis < 0            ? bit
           : bit.axis == depthAxis ? LayoutBit{1, static_cast<int>(lanes.depthBits[bit.bit])}
                                   : LayoutBit{0, bit.bit};
  };
  SmallVector<LayoutBit> registers, threads;
  for (int64_t bit : depth)
    registers.push_back({1, static_cast<int>(bit)});
  for (LayoutBit bit : llvm::map_range(fragment.registerBits(), placed))
    if (!llvm::is_contained(registers, bit))
      registers.push_back(bit);
  llvm::append_range(threads, llvm::map_range(fragment.threadBits(), placed));
  addSubgroups(threads, subgroups.shares, 1,
               static_cast<int>(lanes.depthBits.size() + lanes.moreBits.size()));
  addSubgroups(threads, subgroups.beside, besideRows ? 0 : -1,
               static_cast<int>(llvm::Log2_64(fragment.atom(1 - depthAxis))));
  addSubgroups(threads, copies, -1, 0);
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

// `axes` of the accumulators are the fragment's; subgroups beside one another share `weights`.
static SimtLayout accumulatorsLayout(const SimtLayout &fragment, ArrayRef<int64_t> shape,
                                     std::array<int, 2> axes, int weights, int64_t beside = 1) {
  auto below = [&](ArrayRef<LayoutBit> bits) {
    return llvm::map_to_vector(bits, [&](LayoutBit bit) {
      return bit.axis < 0 ? bit : LayoutBit{axes[bit.axis], bit.bit};
    });
  };
  SmallVector<LayoutBit> threads = below(fragment.threadBits());
  addSubgroups(threads, shape[0], 0, 0);
  addSubgroups(threads, beside, axes[weights],
               static_cast<int>(llvm::Log2_64(fragment.atom(weights))));
  return SimtLayout(shape, SmallVector<LayoutBit>(below(fragment.registerBits())),
                    std::move(threads));
}

// Which bit of K each of the instruction's is, and which are left to registers.
static void dealDepth(SplitSimt &lanes, ArrayRef<int64_t> depth) {
  const DepthBits bits = depthBitsOf(*lanes.instruction);
  lanes.depthBits.assign(bits.common.size() + bits.others.size(), 0);
  for (auto [bit, to] : llvm::zip(bits.common, depth))
    lanes.depthBits[bit] = to;
  for (auto [bit, to] : llvm::zip_equal(bits.others, nextBits(depth, bits.others.size())))
    lanes.depthBits[bit] = to;
  lanes.moreBits.assign(depth.begin() + static_cast<int64_t>(bits.common.size()), depth.end());
}

int64_t besideOf(SplitDotOp dot) {
  auto beside = dot->getAttrOfType<IntegerAttr>(kBesideName);
  return beside ? beside.getInt() : 1;
}

SplitSimt splitSimt(SplitDotOp dot) {
  const MatrixInstruction *own = findMatrixInstruction(dot.getInstruction()),
                          *reading =
                              dot.getReading() ? findMatrixInstruction(*dot.getReading()) : nullptr;
  ArrayRef<int64_t> depth = dot.getDepth(), accumulators = tileType(dot.getResult()).getShape();
  const Subgroups subgroups{accumulators[0], besideOf(dot)};
  SplitSimt lanes{own,
                  own->layoutA(),
                  own->layoutB(),
                  reading ? accumulatorsLayout(reading->layoutC(), accumulators, {2, 1},
                                               /*weights=*/0, subgroups.beside)
                          : accumulatorsLayout(own->layoutC(), accumulators, {1, 2}, /*weights=*/1,
                                               subgroups.beside),
                  {},
                  {}};
  dealDepth(lanes, depth);
  if (reading)
    lanes.instruction = reading;
  const int64_t copies = subgroups.beside * lanes.instruction->lanes / own->lanes;
  lanes.a = operandLayout(lanes, own->layoutA(), 1, depth, tileType(dot.getA()).getShape(),
                          {subgroups.shares, copies});
  lanes.b = operandLayout(lanes, reading ? reading->layoutA() : own->layoutB(), reading ? 1 : 0,
                          depth, tileType(dot.getB()).getShape(), subgroups, /*besideRows=*/true);
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

// Sums [groups, tokens] of what the tokens' operand of the instruction, `side`, multiplies: as
// accumulators of ones have them, once for all rows of weights; `apart` subgroups have tokens of
// their own, `copies` the same.
static SimtLayout sumsLayout(const SimtLayout &accumulators, int side, ArrayRef<int64_t> shape,
                             int64_t apart, int64_t copies) {
  SmallVector<LayoutBit> registers, threads;
  for (LayoutBit bit : accumulators.registerBits())
    if (bit.axis == side)
      registers.push_back({1, bit.bit});
  for (LayoutBit bit : accumulators.threadBits())
    threads.push_back(bit.axis == side ? LayoutBit{1, bit.bit} : LayoutBit());
  addSubgroups(threads, apart, 1, static_cast<int>(llvm::Log2_64(accumulators.atom(side))));
  addSubgroups(threads, copies, -1, 0);
  return SimtLayout(shape, std::move(registers), std::move(threads));
}

static const MatrixInstruction *multiplying(GroupDotOp dot) {
  return findMatrixInstruction(dot.getReading() ? *dot.getReading() : dot.getInstruction());
}

GroupSimt groupSimt(GroupDotOp dot) {
  const MatrixInstruction *sums = findMatrixInstruction(dot.getInstruction()),
                          *instruction = multiplying(dot);
  ArrayRef<int64_t> depth = dot.getDepth(), accumulators = tileType(dot.getResult()).getShape(),
                    a = tileType(dot.getA()).getShape(),
                    scale = tileType(dot.getScale()).getShape();
  const int weights = weightsOperand(*sums), tokens = 1 - weights;
  const SimtLayout tokensFragment = tokens ? sums->layoutB() : sums->layoutA(),
                   weightsFragment = weights ? instruction->layoutB() : instruction->layoutA();
  std::array<int, 2> axes{};
  axes[tokens] = 1;
  axes[weights] = 2;
  const auto beside = static_cast<int64_t>(dot.getBeside());
  SplitSimt lanes{sums,
                  tokensFragment,
                  weightsFragment,
                  accumulatorsLayout(instruction->layoutC(), accumulators, axes, weights, beside),
                  {},
                  {}};
  dealDepth(lanes, depth);
  lanes.instruction = instruction;
  // K is the second axis of a left operand, the first one of a right one.
  lanes.a = operandLayout(lanes, tokensFragment, 1 - tokens, depth, a,
                          {accumulators[0], beside * instruction->lanes / sums->lanes});
  lanes.b = operandLayout(lanes, weightsFragment, 1 - weights, depth, {scale[0], a[1]},
                          {accumulators[0], beside}, /*besideRows=*/true);
  const int64_t group = a[1] / scale[1];
  SimtLayout pairs = coarsened(lanes.b, {scale[0], a[1] / 2}, 1),
             scales = coarsened(lanes.b, scale, llvm::Log2_64(group));
  return {lanes, sums, weights, pairs, scales, group};
}

// ---- instructions that read tokens in shared memory ----

// One that adds up as `own` does, and takes weights as a left operand.
static const MatrixInstruction *readingInstruction(const MatrixInstruction &own,
                                                   ArrayRef<int64_t> accumulators,
                                                   const SimtFacts &facts) {
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (found && found->sharedB && takesElements(*found, own.aElement) && found->k == own.k &&
        found->n == accumulators[1] && accumulators[2] % found->m == 0 &&
        weightsOperand(*found) == 0 &&
        found->layoutA().registerBits() == own.layoutA().registerBits())
      return found;
  }
  return nullptr;
}

const MatrixInstruction *readingInstruction(GroupDotOp dot, const SimtFacts &facts) {
  const MatrixInstruction *own = findMatrixInstruction(dot.getInstruction());
  if (weightsOperand(*own) != 0 || orderAlongK(dot).empty())
    return nullptr;
  return readingInstruction(*own, tileType(dot.getResult()).getShape(), facts);
}

const MatrixInstruction *readingInstruction(SplitDotOp dot, const SimtFacts &facts) {
  ArrayRef<int64_t> accumulators = tileType(dot.getResult()).getShape();
  if (accumulators[0] != 1 || orderAlongK(dot).empty())
    return nullptr;
  return readingInstruction(*findMatrixInstruction(dot.getInstruction()), accumulators, facts);
}

// None where the instruction's elements along K are not neighbours in the tile.
SmallVector<int64_t> orderAlongK(GroupDotOp dot) {
  const SmallVector<int64_t> bits = groupSimt(dot).split.depthBits;
  SmallVector<int64_t> order(bits.size(), -1);
  for (auto [bit, to] : llvm::enumerate(bits))
    if (to < static_cast<int64_t>(order.size()))
      order[to] = static_cast<int64_t>(bit);
  return llvm::is_contained(order, -1) ? SmallVector<int64_t>() : order;
}

// The instruction's elements come first, then the lowest bits that others have of neighbours.
SmallVector<int64_t> orderAlongK(SplitDotOp dot) {
  const SplitSimt lanes = splitSimt(dot);
  SmallVector<int64_t> order(*llvm::max_element(lanes.depthBits) + 1, -1);
  int64_t place = 0;
  for (int64_t to : lanes.depthBits)
    order[to] = place++;
  for (int64_t to : lanes.moreBits)
    if (to < static_cast<int64_t>(order.size()))
      order[to] = place++;
  return llvm::is_contained(order, -1) ? SmallVector<int64_t>() : order;
}

GroupSumsSimt groupSumsSimt(GroupDotOp dot, const GroupSimt &simt) {
  const SplitSimt &lanes = simt.split;
  const int tokens = 1 - simt.weights;
  ArrayRef<int64_t> a = tileType(dot.getA()).getShape();
  const MatrixInstruction &instruction = *simt.sums;
  const auto beside = static_cast<int64_t>(dot.getBeside()),
             subgroups = beside * lanes.instruction->lanes / instruction.lanes;
  const SimtLayout fragment = tokens ? instruction.layoutB() : instruction.layoutA();
  const int64_t fragments = llvm::divideCeil(a[0], fragment.atom(tokens));
  const int64_t apart =
      std::min(subgroups, static_cast<int64_t>(llvm::bit_floor<uint64_t>(fragments)));
  const std::array<int64_t, 2> shape{a[1] / simt.group, a[0]};
  return {operandLayout(lanes, fragment, 1 - tokens, dot.getDepth(), a, {1, apart},
                        /*besideRows=*/true, subgroups / apart),
          sumsLayout(instruction.layoutC(), tokens, shape, apart, subgroups / apart),
          sumsLayout(lanes.instruction->layoutC(), tokens, shape, 1, beside)};
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
  bool inTurn = false;                // unquantized weights' shares one after another
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

// Whether the matmul's loop takes one share of K in a loop over shares, a whole unit of at least so
// many elements a step.
static bool addsSharesInTurn(tile::DotOp dot, int64_t least) {
  const int64_t unit = tileType(dot.getA()).getDimSize(1);
  return isOfShares(dyn_cast<scf::ForOp>(dot->getParentOp()), unit) && llvm::isPowerOf2_64(unit) &&
         unit >= least;
}

// The same of unquantized weights.
static bool addsUnquantizedInTurn(tile::DotOp dot, const SimtFacts &facts) {
  Type element = tileType(dot.getB()).getElementType();
  const bool half = element.isF16() || element.isBF16();
  return half && dot.getB().getDefiningOp<tile::LoadOp>() &&
         tileType(dot.getA()).getDimSize(0) <= kMostRowsOfGroups &&
         addsSharesInTurn(dot, unitAlongK(nullptr, depthTile(facts,
                                                             element.isF16() ? MatrixElement::F16
                                                                             : MatrixElement::BF16,
                                                             /*groups=*/false)));
}

bool multipliesGroups(tile::DotOp dot, const SimtFacts &facts) {
  const int64_t rows = tileType(dot.getA()).getDimSize(0);
  const BlockFormat *words = wordsOf(dot.getB());
  return facts.sharesDepth && words &&
         rows <= (addsSharesInTurn(dot, leastUnitOfGroups(*words)) ? kMostRowsOfGroups
                                                                   : kMostRowsOfShares) &&
         findInstruction(dot, facts, /*groups=*/true);
}

// What of K and of b's rows each subgroup has.
static void dealSubgroups(Split &split, const DepthTile &tile) {
  auto a = tileType(split.dot.getA()), accumulators = tileType(split.dot.getResult());
  const int64_t length = a.getDimSize(1);
  const bool inTurn =
      split.words ? addsSharesInTurn(split.dot, leastUnitOfGroups(*split.words)) : split.inTurn;
  if (!split.words)
    split.depth = registerBitsOfStep(formatOf(split.dot.getB()), tile,
                                     inTurn ? kMostShares * length : length);
  else
    split.depth = registerBitsOfGroups(inTurn ? length : unitOfGroups(*split.words, length),
                                       *split.instruction);
  if (inTurn) {
    const int64_t rows = accumulators.getDimSize(1) / tile.columns;
    split.subgroups.beside = std::min(kMostBeside, rows & -rows);
    return;
  }
  const int64_t unit = int64_t(1) << (split.depth.size() + tile.otherBits);
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
  split.inTurn = !groups && addsUnquantizedInTurn(split.dot, facts);
  if (!(groups || split.inTurn || hasSmallM(split.dot)) || !split.dot.getTransposeB() ||
      !beginsAtZero(split))
    return std::nullopt;
  split.instruction = findInstruction(split.dot, facts, groups);
  if (!split.instruction)
    return std::nullopt;
  const bool half = tileType(split.dot.getA()).getElementType().isF16();
  dealSubgroups(split, depthTile(facts, half ? MatrixElement::F16 : MatrixElement::BF16, groups));
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
  if (!split.words) {
    auto made = SplitDotOp::create(b, dot.getLoc(), type, split.instruction->name, split.depth,
                                   dot.getA(), dot.getB(), acc, /*reading=*/StringAttr());
    if (split.subgroups.beside > 1)
      made->setAttr(kBesideName, b.getI64IntegerAttr(split.subgroups.beside));
    return made;
  }
  auto part = [&](StringRef field, Type element, int64_t length) {
    return partOf(b, dot.getB(), field, element, length);
  };
  const int64_t group = groupAlongK(*split.words);
  Value numbers = part("numbers", b.getI32Type(), 2);
  Value scale = part("group_scale", b.getF32Type(), group);
  Value min = split.words->min.present() ? part("group_min", b.getF32Type(), group) : Value();
  return GroupDotOp::create(b, dot.getLoc(), type, split.instruction->name, split.depth, dot.getA(),
                            numbers, scale, min, acc, static_cast<uint64_t>(split.subgroups.beside),
                            /*reading=*/StringAttr());
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
  auto joined = JoinSharesOp::create(b, dot.getLoc(), accumulators, result, /*blocks=*/uint64_t{1});
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
