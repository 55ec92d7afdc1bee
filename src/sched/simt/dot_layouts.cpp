// The accumulators of a matmul over threads.
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kNeighbours = 4;
static constexpr int64_t kLargeM = 64;
static constexpr int64_t kSharedRowBytes = 128;
static constexpr int64_t kMostAccumulators = 128; // registers of one thread's accumulators

static ArrayRef<int64_t> shapeOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getShape();
}

static Type elementOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

bool hasSmallM(tile::DotOp dot) {
  constexpr int64_t kTallestInstructionRows = 16; // one instruction takes all of them
  return shapeOf(dot.getResult())[0] <= kTallestInstructionRows;
}

// ---- without an instruction: four neighbours along each axis, in square shares ----

static SimtLayout threadAccumulators(ArrayRef<int64_t> shape, int64_t threads) {
  int64_t m = shape[0], n = shape[1];
  int64_t most = llvm::PowerOf2Ceil(n), along = 1;
  // Of few rows the columns alone, so that how a row is shared does not depend on how many.
  bool few = m < kLargeM;
  while (along * 2 <= std::min(threads, few ? (most + kNeighbours - 1) / kNeighbours : most) &&
         (few || along * along * m < threads * n))
    along *= 2;
  SmallVector<LayoutBit> registers, lanes;
  auto spread = [](SmallVector<LayoutBit> &bits, int axis, int64_t first, int64_t count) {
    for (int bit = 0; bit < static_cast<int>(llvm::Log2_64(count)); ++bit)
      bits.push_back({axis, static_cast<int>(llvm::Log2_64(first)) + bit});
  };
  auto share = [](int64_t extent, int64_t over) {
    return std::min<int64_t>(kNeighbours,
                             llvm::bit_floor<uint64_t>(llvm::divideCeil(extent, over)));
  };
  int64_t down = std::min<int64_t>(threads / along, llvm::PowerOf2Ceil(m));
  int64_t columns = share(n, along), rows = share(m, down);
  spread(registers, 1, 1, columns);
  spread(registers, 0, 1, rows);
  spread(lanes, 1, columns, along);
  spread(lanes, 0, rows, down);
  lanes.append(llvm::Log2_64(threads / along / down), LayoutBit());
  return SimtLayout(shape, std::move(registers), std::move(lanes));
}

// ---- with one ----

static bool isElement(MatrixElement element, Type type) {
  switch (element) {
  case MatrixElement::F16:
    return type.isF16();
  case MatrixElement::BF16:
    return type.isBF16();
  case MatrixElement::F32:
    return type.isF32();
  case MatrixElement::S8:
    return type.isInteger(8);
  case MatrixElement::S32:
    return type.isInteger(32);
  case MatrixElement::TF32: // rounds operands, which nobody asked for
  case MatrixElement::U8:   // integers of tiles are signed
    return false;
  }
  return false;
}

// The first that takes the operands' elements, unless half of its rows are more than the matmul has
// and another has fewer.
static const MatrixInstruction *findInstruction(tile::DotOp dot, const SimtFacts &facts) {
  const int64_t rows = shapeOf(dot.getResult())[0];
  const MatrixInstruction *best = nullptr;
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    const bool takes = found && !found->isAsynchronous() && !found->opaqueAccumulators &&
                       isElement(found->aElement, elementOf(dot.getA())) &&
                       isElement(found->bElement, elementOf(dot.getB())) &&
                       isElement(found->cElement, elementOf(dot.getResult()));
    if (takes && (!best || (2 * rows <= best->m && found->m < best->m)))
      best = found;
  }
  return best;
}

bool hasInstruction(tile::DotOp dot, const SimtFacts &facts) {
  const MatrixInstruction *found = findInstruction(dot, facts);
  return found && found->lanes == facts.subgroup;
}

// How subgroups share the accumulators: for each of their bits the axis, above the instruction's
// own bits; -1 where nothing is left to share.
static SmallVector<int> shareSubgroups(const MatrixInstruction &instruction,
                                       ArrayRef<int64_t> shape, int64_t subgroups) {
  int64_t tiles[2] = {static_cast<int64_t>(llvm::divideCeil(shape[0], instruction.m)),
                      static_cast<int64_t>(llvm::divideCeil(shape[1], instruction.n))};
  int64_t rows = shape[0], columns = shape[1];
  SmallVector<int> axes;
  for (; subgroups > 1; subgroups /= 2) {
    // Of few rows always the columns, so that how a row is shared does not depend on how many.
    bool down = tiles[0] > 1 && (rows >= columns || tiles[1] <= 1) && shape[0] >= kLargeM;
    int axis = down ? 0 : 1;
    if (tiles[axis] <= 1) {
      axes.push_back(-1);
      continue;
    }
    tiles[axis] = llvm::divideCeil(tiles[axis], 2);
    (axis == 0 ? rows : columns) /= 2;
    axes.push_back(axis);
  }
  return axes;
}

// A fragment's layout for all subgroups. `own[axis]` is the operand's axis of the accumulators'
// axis, -1 where it has none; `bits` counts the instruction's bits along the accumulators' axes.
static SimtLayout spread(const SimtLayout &fragment, ArrayRef<int64_t> shape, ArrayRef<int> axes,
                         std::array<int, 2> own, std::array<int, 2> bits) {
  SmallVector<LayoutBit> threads(fragment.threadBits());
  for (int axis : axes)
    threads.push_back(axis < 0 || own[axis] < 0 ? LayoutBit() : LayoutBit{own[axis], bits[axis]++});
  return SimtLayout(shape, SmallVector<LayoutBit>(fragment.registerBits()), std::move(threads));
}

SimtLayout sharedAccumulators(const MatrixInstruction &instruction, ArrayRef<int64_t> shape,
                              int64_t threads) {
  SmallVector<int> axes = shareSubgroups(instruction, shape, threads / instruction.lanes);
  std::array<int, 2> bits{static_cast<int>(llvm::Log2_64(instruction.m)),
                          static_cast<int>(llvm::Log2_64(instruction.n))};
  return spread(instruction.layoutC(), shape, axes, {0, 1}, bits);
}

static bool isWhole(const SimtLayout &accumulators) {
  return accumulators.shape()[0] % accumulators.atom(0) == 0 &&
         accumulators.shape()[1] % accumulators.atom(1) == 0 && !accumulators.copies();
}

// Rows of 128 bytes, whole instructions for every thread, and accumulators that registers hold.
const MatrixInstruction *findSharedInstruction(tile::DotOp dot, int64_t threads,
                                               const SimtFacts &facts) {
  ArrayRef<int64_t> shape = shapeOf(dot.getResult());
  if (!dot.getTransposeB() || shapeOf(dot.getA())[1] * 2 != kSharedRowBytes ||
      shape[0] * shape[1] / threads > kMostAccumulators)
    return nullptr;
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (!found || !found->sharedOperands || threads % found->lanes ||
        !isElement(found->aElement, elementOf(dot.getA())) ||
        !isElement(found->bElement, elementOf(dot.getB())))
      continue;
    if (isWhole(sharedAccumulators(*found, shape, threads)))
      return found;
  }
  return nullptr;
}

const MatrixInstruction *findOpaqueInstruction(tile::DotOp dot, int64_t threads,
                                               const SimtFacts &facts) {
  ArrayRef<int64_t> shape = shapeOf(dot.getResult());
  if (!dot.getTransposeB() || shape[0] * shape[1] / threads > kMostAccumulators)
    return nullptr;
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (!found || !found->opaqueAccumulators || found->lanes != facts.subgroup ||
        threads % found->lanes || shapeOf(dot.getA())[1] % found->k ||
        !isElement(found->aElement, elementOf(dot.getA())) ||
        !isElement(found->bElement, elementOf(dot.getB())))
      continue;
    SimtLayout accumulators = sharedAccumulators(*found, shape, threads);
    if (shape[0] % accumulators.atom(0) == 0 && shape[1] % accumulators.atom(1) == 0 &&
        !accumulators.copies())
      return found;
  }
  return nullptr;
}

bool takesOpaqueInstruction(tile::DotOp dot, const SimtFacts &facts) {
  return llvm::any_of(facts.instructions, [&](const std::string &name) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    return found && found->opaqueAccumulators &&
           isElement(found->aElement, elementOf(dot.getA())) &&
           isElement(found->bElement, elementOf(dot.getB()));
  });
}

int64_t wholePanels(int64_t columns) {
  return llvm::alignTo(columns, kSharedRowBytes / 2);
}

const MatrixInstruction *findTileInstruction(tile::DotOp dot, int64_t threads,
                                             const SimtFacts &facts) {
  SmallVector<int64_t> shape(shapeOf(dot.getResult()));
  int64_t k = shapeOf(dot.getA())[1];
  if (dot.getTransposeB() || hasSmallM(dot))
    return nullptr;
  shape[1] = wholePanels(shape[1]);
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (!found || !found->sharedB || found->n != wholePanels(found->n) || threads % found->lanes ||
        k % found->k || !isElement(found->aElement, elementOf(dot.getA())) ||
        !isElement(found->bElement, elementOf(dot.getB())) ||
        !isElement(found->cElement, elementOf(dot.getResult())))
      continue;
    // Groups share rows alone, so that one matmul's accumulators are the next one's operand. What
    // lies beyond the last row is nobody's.
    SimtLayout accumulators = sharedAccumulators(*found, shape, threads);
    if (shape[1] % accumulators.atom(1) == 0 && !accumulators.copies() &&
        accumulators.atom(0) == found->m * (threads / found->lanes))
      return found;
  }
  return nullptr;
}

int64_t backToBackThreadsOf(tile::DotOp dot, const SimtFacts &facts) {
  for (const std::string &name : facts.instructions) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    if (!found || !found->sharedB)
      continue;
    int64_t groups = llvm::PowerOf2Ceil(llvm::divideCeil(shapeOf(dot.getResult())[0], found->m));
    if (findTileInstruction(dot, groups * found->lanes, facts))
      return groups * found->lanes;
  }
  return 0;
}

std::array<int64_t, 2> fragmentCounts(const MatrixInstruction &instruction, ArrayRef<int64_t> shape,
                                      int64_t threads) {
  SimtLayout accumulators = sharedAccumulators(instruction, shape, threads);
  return {shape[0] / accumulators.atom(0), shape[1] / accumulators.atom(1)};
}

SimtLayout tileOperand(const MatrixInstruction &instruction, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> accumulators, int64_t threads) {
  SmallVector<int> axes = shareSubgroups(instruction, accumulators, threads / instruction.lanes);
  std::array<int, 2> bits{static_cast<int>(llvm::Log2_64(instruction.m)),
                          static_cast<int>(llvm::Log2_64(instruction.n))};
  return spread(instruction.layoutA(), shape, axes, {0, -1}, bits);
}

DotLayouts chooseDotLayouts(tile::DotOp dot, int64_t threads, const SimtFacts &facts) {
  ArrayRef<int64_t> shape = shapeOf(dot.getResult());
  const MatrixInstruction *instruction = findInstruction(dot, facts);
  if (!instruction || instruction->lanes != facts.subgroup) {
    SimtLayout accumulators = threadAccumulators(shape, threads);
    return {nullptr, accumulators, accumulators, accumulators};
  }
  SmallVector<int> axes = shareSubgroups(*instruction, shape, threads / facts.subgroup);
  std::array<int, 2> bits{static_cast<int>(llvm::Log2_64(instruction->m)),
                          static_cast<int>(llvm::Log2_64(instruction->n))};
  SimtLayout accumulators = spread(instruction->layoutC(), shape, axes, {0, 1}, bits);
  SimtLayout a = spread(instruction->layoutA(), shapeOf(dot.getA()), axes, {0, -1}, bits);
  SimtLayout fragment = instruction->layoutB();
  bool transposed = dot.getTransposeB();
  if (transposed)
    fragment = fragment.permuted({1, 0});
  SimtLayout b = spread(fragment, shapeOf(dot.getB()), axes, {-1, transposed ? 0 : 1}, bits);
  return {instruction, accumulators, a, b};
}

} // namespace sinter::sched
