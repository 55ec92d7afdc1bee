// The loop at step n where instructions read shared memory: wait for the tiles of step n, multiply,
// fetch those of a later step into the place that was read last but one. Where they read registers:
// multiply what was read in the step before, part by part along K, while the next part is read; the
// last part of a step meets the first of the next, so that no matmul waits for its operands behind
// a barrier, and what is fetched goes to the place that was read whole. What is dequantized goes to
// the next step's place before the barrier of that step, which no matmul reads any more then.
//
// Without asynchronous copies: a barrier, loads of the next step, the matmul part by part, and the
// loaded tiles to the place that the step before was read from; behind another barrier to the only
// place, where two would leave no room for a second thread block.
#include "sched/simt/pipeline_dots.h"
#include "sched/simt/decisions.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/prefetch_loads.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kUsualDepth = 4;
constexpr int64_t kSharedMargin = 1024; // left for other uses
constexpr int64_t kCopyBytes = 16;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

int64_t tileExtent(Value tile, int axis) {
  return tileType(tile).getDimSize(axis);
}

int64_t bytesOf(Value tile) {
  return tileType(tile).getNumElements() * tileType(tile).getElementTypeBitWidth() / 8;
}

// What one loop's matmul is made of.
struct Pipeline {
  scf::ForOp loop;
  tile::DotOp dot;
  tile::LoadOp a, b; // b is null where it is dequantized
  const MatrixInstruction *instruction;
  SmallVector<Operation *> makers = {}; // of b then, in their order
  int64_t registers = 0; // of a thread for the smaller operand, where registers hold them
  int64_t step = 0, depth = 0;
  bool copies = true; // on their own

  bool shared() const { return instruction->sharedOperands; }
  // Steps that fetches run ahead: places are free once every subgroup has ended its matmul, or
  // read its operands.
  int64_t ahead() const { return shared() ? depth - 2 : depth; }
  // Along K, of operands in registers: one instruction's, or several where a thread holds fewer
  // registers than one load of matrices fills.
  int64_t partLength();
  int64_t parts() { return tileExtent(dot.getA(), 1) / partLength(); }
};

int64_t Pipeline::partLength() {
  constexpr int64_t kRegistersOfLoad = 8;
  const int64_t k = tileExtent(dot.getA(), 1);
  int64_t length = instruction->k;
  if (k % length)
    return k;
  while (registers * length < kRegistersOfLoad * k && k % (2 * length) == 0)
    length *= 2;
  return length;
}

// The load of a matrix, of several of which the view may hold one after another.
tile::LoadOp loadOfMatrix(Value tile) {
  if (auto load = tile.getDefiningOp<tile::LoadOp>())
    return tileType(tile).getRank() == 2 ? load : tile::LoadOp();
  auto shaped = tile.getDefiningOp<tile::ReshapeOp>();
  auto load = shaped ? shaped.getValue().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  if (!load || !shaped->hasOneUse())
    return {};
  ArrayRef<int64_t> from = tileType(load.getResult()).getShape(), to = tileType(tile).getShape();
  bool same = from.size() > 2 && from.take_back(2) == to &&
              llvm::all_of(from.drop_back(2), [](int64_t extent) { return extent == 1; });
  return same ? load : tile::LoadOp();
}

// A load that fetches can stand for: of a view that nobody writes, whole pieces of 16 bytes in
// memory, at a place that the step alone decides.
tile::LoadOp fetchable(scf::ForOp loop, Value tile) {
  tile::LoadOp load = loadOfMatrix(tile);
  if (!load || load->getBlock() != loop.getBody() || !load->hasOneUse() || !isFetchable(load) ||
      !loop.isDefinedOutsideOfLoop(load.getView()))
    return {};
  for (Value offset : load.getOffsets())
    if (offset != loop.getInductionVar() && !loop.isDefinedOutsideOfLoop(offset))
      return {};
  return load;
}

// Accumulators in flight may only go around the loop.
bool flowsAround(Pipeline &p) {
  auto acc = dyn_cast<BlockArgument>(p.dot.getAcc());
  if (!acc || acc.getOwner() != p.loop.getBody() || !acc.hasOneUse() || !p.dot->hasOneUse())
    return false;
  auto yield = dyn_cast<scf::YieldOp>(*p.dot->user_begin());
  return yield && p.loop.getTiedLoopYieldedValue(acc)->get() == p.dot.getResult() &&
         p.dot.getTransposeB();
}

std::optional<Pipeline> match(scf::ForOp loop, int64_t threads, int64_t mostDepth,
                              const SimtFacts &facts) {
  Pipeline p{loop, {}, {}, {}, nullptr};
  int dots = 0;
  for (tile::DotOp dot : loop.getOps<tile::DotOp>()) {
    p.dot = dot;
    ++dots;
  }
  auto step = getConstantIntValue(loop.getStep());
  if (dots != 1 || !step)
    return std::nullopt;
  p.step = *step;
  p.a = fetchable(loop, p.dot.getA());
  p.b = fetchable(loop, p.dot.getB());
  if (!p.b && !hasSmallM(p.dot))
    p.makers = dequantizersOf(loop, p.dot.getB());
  p.instruction = flowsAround(p) ? findSharedInstruction(p.dot, threads, facts) : nullptr;
  if (!p.instruction) {
    DotLayouts layouts = chooseDotLayouts(p.dot, threads, facts);
    p.instruction = layouts.instruction;
    if (p.instruction)
      p.registers = std::min(layouts.a.registers(), layouts.b.registers());
  }
  if (!p.a || (!p.b && p.makers.empty()) || !p.instruction)
    return std::nullopt;
  p.copies = facts.asyncCopies;
  int64_t stage = bytesOf(p.dot.getA()) + bytesOf(p.dot.getB());
  if (!p.shared()) // rows are padded by a piece
    stage +=
        (tileType(p.dot.getA()).getDimSize(0) + tileType(p.dot.getB()).getDimSize(0)) * kCopyBytes;
  p.depth = std::min(mostDepth, (facts.maxShared - kSharedMargin) / stage);
  int64_t least = p.shared() ? 3 : 2;
  if (!p.copies) {
    constexpr int64_t kBlocks = 2;
    p.depth = std::clamp<int64_t>(p.depth / kBlocks, std::min<int64_t>(1, p.depth), 2);
    least = 1;
  }
  return p.depth < least ? std::nullopt : std::optional(p);
}

/// Parts of both tiles in registers.
struct Operands {
  Value a, b;
};

class Rewriter {
public:
  explicit Rewriter(Pipeline p) : p_(p), b_(p.loop), loc_(p.loop.getLoc()) {}
  void run();

private:
  Value make(Value tile) {
    auto type = PipelineType::get(b_.getContext(), p_.depth, tileType(tile));
    return MakePipelineOp::create(b_, loc_, type, p_.shared());
  }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  Value place(Value step) {
    Value number = b_.createOrFold<arith::RemUIOp>(loc_, step, index(p_.depth));
    return b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), number);
  }
  Value place(Value number, int64_t later) {
    return place(b_.createOrFold<arith::AddIOp>(loc_, number, index(later)));
  }
  // Fetches both tiles of the step that begins at `at`.
  void fetch(Value at, Value where) {
    for (auto [load, pipeline] : {std::pair(p_.a, pipelineA_), std::pair(p_.b, pipelineB_)}) {
      if (!load)
        continue;
      SmallVector<Value> offsets(load.getOffsets());
      for (Value &offset : offsets)
        if (offset == p_.loop.getInductionVar())
          offset = at;
      auto rank = static_cast<int64_t>(offsets.size());
      auto axes = rank > 2 ? b_.getDenseI64ArrayAttr({rank - 2, rank - 1}) : DenseI64ArrayAttr();
      StageCopyOp::create(b_, loc_, load.getView(), offsets, pipeline, where, Value(), axes);
    }
    CommitOp::create(b_, loc_);
  }
  // Both tiles of the step that begins at `at`, in registers.
  Operands load(Value at) {
    IRMapping map;
    map.map(p_.loop.getInductionVar(), at);
    auto made = [&](Value tile) {
      if (auto shaped = tile.getDefiningOp<tile::ReshapeOp>()) {
        b_.clone(*shaped.getValue().getDefiningOp(), map);
        return b_.clone(*shaped, map)->getResult(0);
      }
      return b_.clone(*tile.getDefiningOp(), map)->getResult(0);
    };
    Value a = made(p_.dot.getA());
    if (p_.b)
      return {a, made(p_.dot.getB())};
    for (Operation *maker : p_.makers)
      b_.clone(*maker, map);
    return {a, map.lookup(p_.dot.getB())};
  }
  void store(const Operands &tiles, Value where) {
    StageStoreOp::create(b_, loc_, tiles.a, pipelineA_, where);
    StageStoreOp::create(b_, loc_, tiles.b, pipelineB_, where);
  }
  // Dequantizes the right tile of the step that begins at `at`.
  void dequantize(Value at, Value where) {
    if (p_.makers.empty())
      return;
    IRMapping map;
    map.map(p_.loop.getInductionVar(), at);
    for (Operation *maker : p_.makers)
      b_.clone(*maker, map);
    StageStoreOp::create(b_, loc_, map.lookup(p_.dot.getB()), pipelineB_, where);
  }
  Operands read(Value where, int64_t part);
  Value multiply(const Operands &operands, Value acc);
  Value stepNumber();
  void runShared();
  void runRegisters();
  void runStored();
  void eraseReplaced();

  Pipeline p_;
  OpBuilder b_;
  Location loc_;
  Value pipelineA_, pipelineB_;
};

// Part `part` along K of the tiles at a place.
Operands Rewriter::read(Value where, int64_t part) {
  tile::DotOp dot = p_.dot;
  const int64_t length = p_.partLength();
  auto along = [&](Value tile, Value pipeline, int axis) -> Value {
    RankedTensorType whole = tileType(tile);
    SmallVector<int64_t> shape(whole.getShape()), origin{0, 0};
    origin[axis] = part * length;
    shape[axis] = length;
    return StageReadOp::create(b_, loc_, whole.clone(shape), pipeline, where,
                               b_.getDenseI64ArrayAttr(origin));
  };
  return {along(dot.getA(), pipelineA_, 1),
          along(dot.getB(), pipelineB_, dot.getTransposeB() ? 1 : 0)};
}

Value Rewriter::multiply(const Operands &operands, Value acc) {
  return tile::DotOp::create(b_, loc_, acc.getType(), operands.a, operands.b, acc,
                             p_.dot.getTransposeB());
}

Value Rewriter::stepNumber() {
  Value number =
      b_.createOrFold<arith::SubIOp>(loc_, p_.loop.getInductionVar(), p_.loop.getLowerBound());
  return b_.createOrFold<arith::DivUIOp>(loc_, number, index(p_.step));
}

void Rewriter::runShared() {
  b_.setInsertionPoint(p_.dot);
  Value at = p_.loop.getInductionVar(), number = stepNumber();
  auto fetchLater = [&] {
    fetch(b_.createOrFold<arith::AddIOp>(loc_, at, index(p_.ahead() * p_.step)),
          place(number, p_.ahead()));
  };
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(p_.ahead() - 1));
  // The next await's fence waits for copies that began just before it (28672 x 4096, 512 rows on an
  // H200: F16 235 us, after the matmul 257; Q8_0 282 and 269, since it dequantizes between).
  if (p_.b)
    fetchLater();
  Value accumulators =
      StageDotOp::create(b_, loc_, p_.dot.getResult().getType(), p_.instruction->name, pipelineA_,
                         pipelineB_, place(number), p_.dot.getAcc(), 1);
  if (!p_.b)
    fetchLater();
  dequantize(b_.createOrFold<arith::AddIOp>(loc_, at, index(p_.step)), place(number, 1));
  p_.dot.getResult().replaceAllUsesWith(accumulators);
}

void Rewriter::runRegisters() {
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(p_.depth - 1));
  Operands first = read(place(index(0)), 0), next;
  IRRewriter rewriter(b_);
  auto handOn = [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
    b_.setInsertionPoint(p_.dot);
    Value at = p_.loop.getInductionVar(), number = stepNumber(), here = place(number);
    Value accumulators = p_.dot.getAcc();
    Operands now{arguments[0], arguments[1]};
    dequantize(b_.createOrFold<arith::AddIOp>(loc_, at, index(p_.step)), place(number, 1));
    for (int64_t part = 1; part <= p_.parts(); ++part) {
      bool last = part == p_.parts();
      if (last)
        AwaitOp::create(b_, loc_, static_cast<uint32_t>(p_.depth - 2));
      next = last ? read(place(number, 1), 0) : read(here, part);
      accumulators = multiply(now, accumulators);
      now = next;
    }
    fetch(b_.createOrFold<arith::AddIOp>(loc_, at, index(p_.ahead() * p_.step)), here);
    p_.dot.getResult().replaceAllUsesWith(accumulators);
    return SmallVector<Value>{next.a, next.b};
  };
  auto replaced = cast<LoopLikeOpInterface>(p_.loop.getOperation())
                      .replaceWithAdditionalYields(rewriter, {first.a, first.b},
                                                   /*replaceInitOperandUsesInLoop=*/false, handOn);
  p_.loop = cast<scf::ForOp>(replaced->getOperation());
}

void Rewriter::runStored() {
  b_.setInsertionPoint(p_.dot);
  Value at = p_.loop.getInductionVar(), number = stepNumber(), here = place(number);
  BarrierOp::create(b_, loc_);
  const Operands later = load(b_.createOrFold<arith::AddIOp>(loc_, at, index(p_.step)));
  Value accumulators = p_.dot.getAcc();
  for (int64_t part = 0; part < p_.parts(); ++part)
    accumulators = multiply(read(here, part), accumulators);
  if (p_.depth == 1)
    BarrierOp::create(b_, loc_);
  store(later, place(number, 1));
  p_.dot.getResult().replaceAllUsesWith(accumulators);
}

// The matmul and what nothing but it reads.
void Rewriter::eraseReplaced() {
  SmallVector<Operation *> unused{p_.dot};
  for (Value operand : {p_.dot.getA(), p_.dot.getB()})
    if (auto shaped = operand.getDefiningOp<tile::ReshapeOp>())
      unused.push_back(shaped);
  unused.push_back(p_.a);
  if (p_.b)
    unused.push_back(p_.b);
  for (Operation *op : unused)
    op->erase();
  for (Operation *maker : llvm::reverse(p_.makers))
    if (maker->use_empty())
      maker->erase();
}

void Rewriter::run() {
  pipelineA_ = make(p_.dot.getA());
  pipelineB_ = make(p_.dot.getB());
  if (!p_.copies) {
    store(load(p_.loop.getLowerBound()), place(index(0)));
    runStored();
    return eraseReplaced();
  }
  for (int64_t ahead = 0; ahead < p_.ahead(); ++ahead) {
    Value at =
        b_.createOrFold<arith::AddIOp>(loc_, p_.loop.getLowerBound(), index(ahead * p_.step));
    fetch(at, place(index(ahead)));
  }
  dequantize(p_.loop.getLowerBound(), place(index(0)));
  if (p_.shared())
    runShared();
  else
    runRegisters();
  eraseReplaced();
  b_.setInsertionPointAfter(p_.loop);
  // Nothing is on its way any more when shared memory gets another use.
  AwaitOp::create(b_, loc_, 0);
  if (!p_.shared())
    return;
  for (OpResult result : p_.loop.getResults())
    if (isa<RankedTensorType>(result.getType())) {
      auto settled = SettleOp::create(b_, loc_, result.getType(), result);
      result.replaceAllUsesExcept(settled.getResult(), settled);
    }
}

} // namespace

SmallVector<Operation *> dequantizersOf(scf::ForOp loop, Value tile) {
  DenseSet<Operation *> found;
  bool blocks = false;
  SmallVector<Value> work{tile};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (loop.isDefinedOutsideOfLoop(value) || value == loop.getInductionVar())
      continue;
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != loop.getBody() || maker->getNumRegions())
      return {};
    auto load = dyn_cast<BlockLoadOp>(maker);
    if (load ? cast<tile::ViewType>(load.getView().getType()).isWritable()
             : !isMemoryEffectFree(maker))
      return {};
    blocks |= static_cast<bool>(load);
    if (found.insert(maker).second)
      llvm::append_range(work, maker->getOperands());
  }
  SmallVector<Operation *> makers;
  for (Operation &op : *loop.getBody())
    if (blocks && found.contains(&op))
      makers.push_back(&op);
  return makers;
}

bool isFetchable(tile::LoadOp load) {
  tile::ViewType view = load.getView().getType();
  const bool plain = !load.getPadAttr() && !view.isWritable() && !view.getInterleave() &&
                     !view.getStrided() && !load.getView().getDefiningOp<tile::GatherOp>();
  return plain && view.getElementType().getIntOrFloatBitWidth() == 16 &&
         tileType(load.getResult()).getShape().back() * 2 % kCopyBytes == 0;
}

void pipelineDots(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts) {
  const int64_t mostDepth = decisionOf(kernel, kStages, kUsualDepth);
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (std::optional<Pipeline> p = match(loop, threads, mostDepth, facts)) {
      if (!p->makers.empty())
        kernel->setAttr(kReadsAhead, UnitAttr::get(kernel.getContext()));
      Rewriter(*p).run();
    }
}

} // namespace sinter::sched
