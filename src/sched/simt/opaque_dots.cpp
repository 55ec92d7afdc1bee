// The loop at step n: a barrier, loads of step n + 1 into registers, the matmul of step n, and the
// registers to the place that step n - 1 was read from. Weights that are dequantized were loaded
// one step earlier (prefetch_loads) and become numbers behind the matmul, which their arithmetic
// does not wait for.
#include "sched/simt/opaque_dots.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/pipeline_dots.h"
#include "sched/simt/prefetch_loads.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kPlaces = 2;
constexpr int64_t kPadBytes = 16; // of a row
constexpr int64_t kElementBytes = 2; // that instructions with opaque accumulators take
constexpr int64_t kPipelineAlignment = 1024;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

struct Stage {
  scf::ForOp loop;
  tile::DotOp dot;
  tile::LoadOp a, b;                    // b is null where it is dequantized
  SmallVector<Operation *> makers = {}; // of b then, in their order
  OpResult accumulators; // of the loop
  const MatrixInstruction *instruction = nullptr;
  int64_t step = 0;
};

// A load of this loop alone, whose place the step and what is known before the loop decide.
tile::LoadOp movable(scf::ForOp loop, Value tile) {
  auto load = tile.getDefiningOp<tile::LoadOp>();
  if (!load || load->getBlock() != loop.getBody() || !load->hasOneUse() || load.getPadAttr() ||
      load.getView().getType().isWritable() || !loop.isDefinedOutsideOfLoop(load.getView()) ||
      tileType(tile).getRank() != 2)
    return {};
  for (Value offset : load.getOffsets())
    if (offset != loop.getInductionVar() && !loop.isDefinedOutsideOfLoop(offset))
      return {};
  return load;
}

// The loop's result that begins at zero and to which the matmul alone adds.
OpResult accumulatorsOf(scf::ForOp loop, tile::DotOp dot) {
  auto acc = dyn_cast<BlockArgument>(dot.getAcc());
  if (!acc || acc.getOwner() != loop.getBody() || !acc.hasOneUse() || !dot->hasOneUse())
    return {};
  OpOperand *init = loop.getTiedLoopInit(acc);
  bool goesAround = init && loop.getTiedLoopYieldedValue(acc)->get() == dot.getResult();
  return goesAround && matchPattern(init->get(), m_AnyZeroFloat()) ? loop.getTiedLoopResult(acc)
                                                                   : OpResult();
}

// Two places for both operands; once they are dead, what the subgroups' fragments need to be taken.
bool fitsShared(Stage &s, int64_t threads, const SimtFacts &facts) {
  RankedTensorType a = tileType(s.dot.getA()), b = tileType(s.dot.getB());
  if (a.getDimSize(1) * kElementBytes % kPadBytes)
    return false;
  int64_t bytes = opaqueSharedBytes(a.getDimSize(0), b.getDimSize(0), a.getDimSize(1));
  int64_t fragments = threads / s.instruction->lanes * s.instruction->m * s.instruction->n * 4;
  return std::max(bytes, fragments) <= facts.maxShared;
}

std::optional<Stage> match(scf::ForOp loop, int64_t threads, const SimtFacts &facts) {
  Stage s;
  s.loop = loop;
  auto dots = loop.getOps<tile::DotOp>();
  auto step = getConstantIntValue(loop.getStep());
  if (!llvm::hasSingleElement(dots) || !step)
    return std::nullopt;
  s.dot = *dots.begin();
  s.step = *step;
  s.accumulators = accumulatorsOf(loop, s.dot);
  s.a = movable(loop, s.dot.getA());
  s.b = movable(loop, s.dot.getB());
  if (!s.b)
    s.makers = dequantizersOf(loop, s.dot.getB());
  if (!s.accumulators || !s.a || (!s.b && s.makers.empty()))
    return std::nullopt;
  s.instruction = findOpaqueInstruction(s.dot, threads, facts);
  if (!s.instruction || !fitsShared(s, threads, facts))
    return std::nullopt;
  return s;
}

class Rewriter {
public:
  Rewriter(Stage s, int64_t first) : s_(s), first_(first), b_(s.loop), loc_(s.loop.getLoc()) {}
  void run(int64_t count);

private:
  Value make(Value tile) {
    return MakePipelineOp::create(
        b_, loc_, PipelineType::get(b_.getContext(), kPlaces, tileType(tile)), false);
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  Value place(Value step) {
    Value number = b_.createOrFold<arith::RemUIOp>(loc_, step, index(kPlaces));
    return b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), number);
  }
  Value load(tile::LoadOp of, Value at) {
    IRMapping map;
    map.map(s_.loop.getInductionVar(), at);
    return b_.clone(*of, map)->getResult(0);
  }
  // The right tile of the step that begins at `at`: loaded, or null where it is dequantized.
  Value loadRight(Value at) { return s_.b ? load(s_.b, at) : Value(); }
  Value dequantize(Value at) {
    IRMapping map;
    map.map(s_.loop.getInductionVar(), at);
    for (Operation *maker : s_.makers)
      b_.clone(*maker, map);
    return map.lookup(s_.dot.getB());
  }
  void put(Value a, Value b, Value at, Value where) {
    StageStoreOp::create(b_, loc_, a, pipelineA_, where);
    StageStoreOp::create(b_, loc_, b ? b : dequantize(at), pipelineB_, where);
  }
  void eraseReplaced();

  Stage s_;
  int64_t first_;
  OpBuilder b_;
  Location loc_;
  Value pipelineA_, pipelineB_;
};

// The matmul and what nothing but it reads.
void Rewriter::eraseReplaced() {
  s_.dot.getResult().replaceAllUsesWith(s_.dot.getAcc());
  s_.dot.erase();
  s_.a.erase();
  if (s_.b)
    s_.b.erase();
  for (Operation *maker : llvm::reverse(s_.makers))
    if (maker->use_empty())
      maker->erase();
}

void Rewriter::run(int64_t count) {
  StringRef name = s_.instruction->name;
  Value lower = s_.loop.getLowerBound();
  pipelineA_ = make(s_.dot.getA());
  pipelineB_ = make(s_.dot.getB());
  AccClearOp::create(b_, loc_, name, first_, count);
  put(load(s_.a, lower), loadRight(lower), lower, place(index(0)));
  b_.setInsertionPoint(s_.dot);
  Value at = s_.loop.getInductionVar();
  Value number = b_.createOrFold<arith::SubIOp>(loc_, at, lower);
  number = b_.createOrFold<arith::DivUIOp>(loc_, number, index(s_.step));
  BarrierOp::create(b_, loc_);
  Value next = b_.createOrFold<arith::AddIOp>(loc_, at, index(s_.step));
  Value a = load(s_.a, next), b = loadRight(next);
  StageAccumulateOp::create(b_, loc_, name, pipelineA_, pipelineB_, place(number), first_);
  put(a, b, next, place(b_.createOrFold<arith::AddIOp>(loc_, number, index(1))));
  eraseReplaced();
  b_.setInsertionPointAfter(s_.loop);
  s_.accumulators.replaceAllUsesWith(
      AccReadOp::create(b_, loc_, s_.accumulators.getType(), name, first_).getResult());
}

} // namespace

int64_t opaqueSharedBytes(int64_t m, int64_t n, int64_t k) {
  auto bytesOf = [&](int64_t rows) {
    return static_cast<int64_t>(
        llvm::alignTo(kPlaces * rows * (k * kElementBytes + kPadBytes), kPipelineAlignment));
  };
  return bytesOf(m) + bytesOf(n);
}

void opaqueDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  int64_t first = 0;
  for (scf::ForOp loop : loops)
    if (std::optional<Stage> s = match(loop, threads, facts)) {
      auto counts = fragmentCounts(*s->instruction, tileType(s->accumulators).getShape(), threads);
      if (!s->makers.empty())
        kernel->setAttr(kReadsAhead, UnitAttr::get(kernel.getContext()));
      Rewriter(*s, first).run(counts[0] * counts[1]);
      first += counts[0] * counts[1];
    }
}

} // namespace sinter::sched
