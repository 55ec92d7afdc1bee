// Step n of the loop: wait for the tiles of step n, start the matmuls of step n + 1 that depend on
// nothing else, fetch the tiles of a later step, go on with the accumulators of step n.
#include "sched/simt/pipeline_back_to_back.h"
#include "sched/simt/dot_layouts.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kMostPrefetch = 3;    // steps that fetches run ahead
constexpr int64_t kSharedMargin = 1024; // left for other uses
// Registers of a thread that accumulators and operands leave to computing. With 16 fewer (192
// taken, for 128 rows with heads and pages of 128) ptxas 12.8 and 13.0 make wrong code of right
// PTX: they compute weights in the registers of the operand from outside of the loop, which nothing
// restores, even if each matmul is waited for at once. Machine code with 176 taken has no such
// read.
constexpr int64_t kOtherRegisters = 79;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

int64_t bytesOf(RankedTensorType tile) {
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8;
}

// A matmul and the load of its second operand, whose axes lie along `axes` of the view.
struct Matmul {
  tile::DotOp dot;
  tile::LoadOp load;
  SmallVector<int64_t> axes;
  const MatrixInstruction *instruction = nullptr;
  bool leads = false; // needs nothing of the round before, nor of other matmuls
  Value pipeline;
  int64_t depth = 0;

  // What a place of the pipeline holds: the operand in whole panels, zero beyond its columns.
  RankedTensorType place() const {
    RankedTensorType operand = tileType(tile::DotOp(dot).getB());
    return RankedTensorType::get({operand.getDimSize(0), wholePanels(operand.getDimSize(1))},
                                 operand.getElementType());
  }
};

struct BackToBack {
  scf::ForOp loop;
  SmallVector<Matmul> matmuls;
  SetVector<Operation *> addresses; // what says where loads read, in order
  int64_t step = 0, ahead = 0;
  bool early = false; // leading matmuls begin a step ahead

  int64_t leaders() const {
    return llvm::count_if(matmuls, [](const Matmul &p) { return p.leads; });
  }
};

// ---- matching ----

// The two axes of a load that are the operand's; none where it is no such load.
SmallVector<int64_t> operandAxes(tile::LoadOp load, RankedTensorType operand) {
  SmallVector<int64_t> axes;
  for (auto [axis, extent] : llvm::enumerate(tileType(load.getResult()).getShape()))
    if (extent != 1)
      axes.push_back(static_cast<int64_t>(axis));
  bool same = axes.size() == 2 && operand.getRank() == 2 &&
              load.getView().getType().getContiguousAxis() == axes[1];
  for (int64_t at = 0; same && at < 2; ++at)
    same = tileType(load.getResult()).getDimSize(axes[at]) == operand.getDimSize(at);
  return same ? axes : SmallVector<int64_t>();
}

bool readsPlainView(tile::LoadOp load) {
  Value view = load.getView();
  while (auto window = view.getDefiningOp<tile::WindowOp>())
    view = window.getView();
  tile::ViewType type = load.getView().getType();
  return isa<BlockArgument>(view) && !type.isWritable() && !type.getInterleave() &&
         !type.getStrided() && !load.getPadAttr() && type.getElementType().isIntOrFloat() &&
         type.getElementType().getIntOrFloatBitWidth() == 16;
}

std::optional<Matmul> matchMatmul(scf::ForOp loop, tile::DotOp dot, int64_t threads,
                                  const SimtFacts &facts) {
  Matmul p;
  p.dot = dot;
  Operation *maker = dot.getB().getDefiningOp();
  if (auto reshape = dyn_cast_or_null<tile::ReshapeOp>(maker); reshape && reshape->hasOneUse())
    maker = reshape.getValue().getDefiningOp();
  p.load = dyn_cast_or_null<tile::LoadOp>(maker);
  if (!p.load || p.load->getBlock() != loop.getBody() || !p.load->hasOneUse() ||
      !dot.getB().hasOneUse() || !readsPlainView(p.load))
    return std::nullopt;
  p.axes = operandAxes(p.load, tileType(dot.getB()));
  p.instruction = findTileInstruction(dot, threads, facts);
  if (p.axes.empty() || !p.instruction)
    return std::nullopt;
  p.leads = loop.isDefinedOutsideOfLoop(dot.getA()) && loop.isDefinedOutsideOfLoop(dot.getAcc());
  return p;
}

// Whether what says where loads read can be computed for any step: of the step alone, with scalars
// of views that nobody writes, none of which says where to read another.
bool findAddresses(BackToBack &gemms) {
  SetVector<Operation *> found;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op->getBlock() == gemms.loop.getBody(); };
  for (Matmul &p : gemms.matmuls)
    if (failed(getBackwardSlice(p.load.getOperation(), &found, options)))
      return false;
  SmallVector<Operation *> ordered(found.begin(), found.end());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  gemms.addresses.insert(ordered.begin(), ordered.end());
  DenseSet<Value> read;
  for (Operation *op : ordered) {
    auto scalar = dyn_cast<tile::LoadScalarOp>(op);
    bool isRead = llvm::any_of(op->getOperands(), [&](Value v) { return read.contains(v); });
    bool plain = !isa<RankedTensorType>(op->getResult(0).getType()) && !op->getNumRegions() &&
                 (isMemoryEffectFree(op) || isa<tile::WindowOp>(op));
    if (scalar ? isRead || scalar.getView().getType().isWritable() : !plain)
      return false;
    for (Value operand : op->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        if (argument.getOwner() == gemms.loop.getBody() && argument != gemms.loop.getInductionVar())
          return false;
    if (scalar || isRead)
      read.insert(op->getResult(0));
  }
  return true;
}

// Registers of a thread for all accumulators and operands, with those of rows and columns that
// instructions have to spare.
int64_t registersOf(const BackToBack &gemms, int64_t threads, bool early) {
  int64_t words = 0;
  for (const Matmul &p : gemms.matmuls) {
    RankedTensorType a = tileType(tile::DotOp(p.dot).getA());
    int64_t rows = llvm::divideCeil(a.getDimSize(0) * p.instruction->lanes, threads);
    rows = static_cast<int64_t>(llvm::alignTo(rows, p.instruction->m));
    int64_t accumulators = rows * p.place().getDimSize(1) * (p.leads && early ? 2 : 1);
    words += (rows * a.getDimSize(1) / 2 + accumulators) / p.instruction->lanes;
  }
  return words;
}

// Places of each pipeline: tiles of leading matmuls are read until the end of a step, of others
// until the step after has waited for them.
bool chooseDepths(BackToBack &gemms, int64_t maxShared) {
  for (gemms.ahead = kMostPrefetch; gemms.ahead >= (gemms.early ? 2 : 1); --gemms.ahead) {
    int64_t bytes = kSharedMargin;
    for (Matmul &p : gemms.matmuls) {
      p.depth = p.leads ? gemms.ahead + !gemms.early : gemms.ahead + 2;
      bytes += p.depth * bytesOf(p.place());
    }
    if (bytes <= maxShared)
      return true;
  }
  return false;
}

// Pipelines in half of the shared memory, so that two thread blocks of one group each fit a
// multiprocessor: while one begins or ends, the other one's copies are on their way. No matmul
// begins a step early then. That would take registers, and a step would begin with a wait for the
// latest copy.
bool chooseHalfDepths(BackToBack &gemms, int64_t threads, const SimtFacts &facts) {
  const auto isOfOneGroup = [&](const Matmul &p) { return p.instruction->lanes == threads; };
  if (!llvm::all_of(gemms.matmuls, isOfOneGroup))
    return false;
  const bool early = std::exchange(gemms.early, false);
  if (chooseDepths(gemms, facts.maxShared / 2) && gemms.ahead > 1)
    return true;
  gemms.early = early;
  return false;
}

std::optional<BackToBack> match(scf::ForOp loop, int64_t threads, const SimtFacts &facts) {
  BackToBack gemms;
  gemms.loop = loop;
  auto step = getConstantIntValue(loop.getStep());
  if (!step)
    return std::nullopt;
  gemms.step = *step;
  for (tile::DotOp dot : loop.getOps<tile::DotOp>()) {
    std::optional<Matmul> matmul = matchMatmul(loop, dot, threads, facts);
    if (!matmul)
      return std::nullopt;
    gemms.matmuls.push_back(*matmul);
  }
  if (gemms.leaders() == 0 || !findAddresses(gemms))
    return std::nullopt;
  int64_t most = facts.maxRegisters - kOtherRegisters;
  gemms.early = registersOf(gemms, threads, true) <= most;
  if (registersOf(gemms, threads, false) > most ||
      (!chooseHalfDepths(gemms, threads, facts) && !chooseDepths(gemms, facts.maxShared)))
    return std::nullopt;
  return gemms;
}

// ---- rewriting ----

class Rewriter {
public:
  explicit Rewriter(BackToBack gemms)
      : c_(std::move(gemms)), b_(c_.loop), loc_(c_.loop.getLoc()), upper_(c_.loop.getUpperBound()) {
  }
  void run();

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  Value int32(int64_t value) { return arith::ConstantIntOp::create(b_, loc_, value, 32); }
  Value after(Value at, int64_t steps) {
    return b_.createOrFold<arith::AddIOp>(loc_, at, index(steps * c_.step));
  }
  // The place of the tile of step `number` + `steps`.
  Value place(const Matmul &p, Value number, int64_t steps) {
    Value at = b_.createOrFold<arith::AddIOp>(loc_, number, int32(steps));
    return b_.createOrFold<arith::RemUIOp>(loc_, at, int32(p.depth));
  }
  SmallVector<Value> readScalars(Value at);
  void fetch(Value at, Value number, int64_t steps, ValueRange scalars);
  Value start(Matmul &p, Value number, int64_t steps, Value a, Value acc);
  Value settle(Value accumulators) {
    return SettleOp::create(b_, loc_, accumulators.getType(), accumulators);
  }
  SmallVector<Value> prepare();
  void rebuild(ArrayRef<Value> more);
  void lead(Value number);
  void follow(Matmul &p, Value number);
  void finish();
  void cleanUp();

  BackToBack c_;
  OpBuilder b_;
  Location loc_;
  Value upper_;
  void settleNext();
  SmallVector<Value> handedOn_;           // what goes around beside the loop's own
  SmallVector<Value> scalars_;            // of the step after those that are fetched
  SmallVector<Value> nextAccumulators_;   // of matmuls a step ahead, in flight
  SmallVector<Value> aroundAccumulators_; // results of the loop in flight
};

// The scalars that say where the step at `at` reads.
SmallVector<Value> Rewriter::readScalars(Value at) {
  IRMapping map;
  map.map(c_.loop.getInductionVar(), at);
  SmallVector<Value> scalars;
  for (Operation *op : c_.addresses) {
    bool ready = llvm::all_of(op->getOperands(), [&](Value v) {
      Operation *maker = v.getDefiningOp();
      return !maker || !c_.addresses.contains(maker) || map.contains(v);
    });
    if (isa<tile::LoadScalarOp>(op))
      scalars.push_back(b_.clone(*op)->getResult(0));
    else if (ready && !isa<tile::WindowOp>(op))
      b_.clone(*op, map);
    if (isa<tile::LoadScalarOp>(op))
      for (OpOperand &operand : scalars.back().getDefiningOp()->getOpOperands())
        operand.set(map.lookupOrDefault(operand.get()));
  }
  return scalars;
}

// Fetches the tiles of the step at `at`, `steps` after `number`; zeros beyond the last step.
void Rewriter::fetch(Value at, Value number, int64_t steps, ValueRange scalars) {
  Value exists = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, at, upper_);
  IRMapping map;
  map.map(c_.loop.getInductionVar(), at);
  for (Operation *op : c_.addresses) {
    if (!isa<tile::LoadScalarOp>(op)) {
      b_.clone(*op, map);
      continue;
    }
    map.map(op->getResult(0), scalars.front());
    scalars = scalars.drop_front();
  }
  for (Matmul &p : c_.matmuls) {
    SmallVector<Value> offsets =
        llvm::map_to_vector(p.load.getOffsets(), [&](Value v) { return map.lookupOrDefault(v); });
    StageCopyOp::create(b_, loc_, map.lookupOrDefault(p.load.getView()), offsets, p.pipeline,
                        place(p, number, steps), exists, b_.getDenseI64ArrayAttr(p.axes));
  }
  CommitOp::create(b_, loc_);
}

// What is started is waited for elsewhere.
Value Rewriter::start(Matmul &p, Value number, int64_t steps, Value a, Value acc) {
  return TileDotOp::create(b_, loc_, p.dot.getResult().getType(), p.instruction->name, a,
                           p.pipeline, place(p, number, steps), acc);
}

// Before the loop: pipelines, the first fetches, the first accumulators of matmuls that lead. What
// the loop hands on beside its own: scalars, then accumulators.
SmallVector<Value> Rewriter::prepare() {
  for (Matmul &p : c_.matmuls)
    p.pipeline = MakePipelineOp::create(
        b_, loc_, PipelineType::get(b_.getContext(), p.depth, p.place()), true);
  Value lower = c_.loop.getLowerBound(), first = int32(0);
  for (int64_t steps = 0; steps < c_.ahead; ++steps) {
    Value at = after(lower, steps);
    fetch(at, first, steps, readScalars(at));
  }
  SmallVector<Value> more = readScalars(after(lower, c_.ahead));
  if (!c_.early)
    return more;
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(c_.ahead - 1));
  for (Matmul &p : c_.matmuls)
    if (p.leads)
      more.push_back(settle(start(p, first, 0, p.dot.getA(), p.dot.getAcc())));
  return more;
}

// The same loop with more values that go around.
void Rewriter::rebuild(ArrayRef<Value> more) {
  scf::ForOp old = c_.loop;
  SmallVector<Value> inits(old.getInitArgs());
  llvm::append_range(inits, more);
  auto now = scf::ForOp::create(b_, loc_, old.getLowerBound(), upper_, old.getStep(), inits);
  if (!now.getBody()->empty())
    now.getBody()->back().erase();
  now.getBody()->getOperations().splice(now.getBody()->end(), old.getBody()->getOperations());
  for (auto [from, to] : llvm::zip(old.getBody()->getArguments(), now.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  for (auto [from, to] : llvm::zip(old.getResults(), now.getResults()))
    from.replaceAllUsesWith(to);
  llvm::append_range(handedOn_, now.getRegionIterArgs().drop_front(old.getNumRegionIterArgs()));
  old.erase();
  c_.loop = now;
}

// The head of a step.
void Rewriter::lead(Value number) {
  size_t early = c_.early ? c_.leaders() : 0;
  ArrayRef<Value> scalars = ArrayRef<Value>(handedOn_).drop_back(early),
                  accumulators = ArrayRef<Value>(handedOn_).take_back(early);
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(c_.ahead - (c_.early ? 2 : 1)));
  SmallVector<std::pair<Value, Value>> started; // what it stands for, the accumulators
  for (Matmul &p : c_.matmuls)
    if (p.leads)
      started.emplace_back(p.dot.getResult(),
                           start(p, number, c_.early, p.dot.getA(), p.dot.getAcc()));
  Value at = c_.loop.getInductionVar();
  fetch(after(at, c_.ahead), number, c_.ahead, scalars);
  scalars_ = readScalars(after(at, c_.ahead + 1));
  for (auto [which, result] : llvm::enumerate(started)) {
    result.first.replaceAllUsesWith(early ? accumulators[which] : settle(result.second));
    if (early)
      nextAccumulators_.push_back(result.second);
  }
}

void Rewriter::settleNext() {
  for (Value &accumulators : nextAccumulators_)
    if (!accumulators.getDefiningOp<SettleOp>())
      accumulators = settle(accumulators);
}

// A matmul where it stands. Accumulators that only go around are waited for where the next step
// reads them, and with them the matmuls a step ahead, all on their way until then.
void Rewriter::follow(Matmul &p, Value number) {
  tile::DotOp dot = p.dot;
  b_.setInsertionPoint(dot);
  Value accumulators = start(p, number, 0, dot.getA(), dot.getAcc());
  Operation *yield = c_.loop.getBody()->getTerminator();
  if (!dot->hasOneUse() || *dot->user_begin() != yield) {
    dot.getResult().replaceAllUsesWith(settle(accumulators));
    return;
  }
  unsigned which = dot->use_begin()->getOperandNumber();
  dot.getResult().replaceAllUsesWith(accumulators);
  aroundAccumulators_.push_back(c_.loop.getResult(which));
  BlockArgument before = c_.loop.getRegionIterArg(which);
  Operation *reader = nullptr;
  for (Operation *user : before.getUsers()) {
    user = c_.loop.getBody()->findAncestorOpInBlock(*user);
    if (!reader || user->isBeforeInBlock(reader))
      reader = user;
  }
  if (!reader)
    return;
  b_.setInsertionPoint(reader);
  Value settled = settle(before);
  before.replaceAllUsesExcept(settled, settled.getDefiningOp());
  settleNext();
}

// The end of a step, and what is still on its way after the last one.
void Rewriter::finish() {
  Operation *yield = c_.loop.getBody()->getTerminator();
  b_.setInsertionPoint(yield);
  settleNext();
  llvm::append_range(scalars_, nextAccumulators_);
  yield->insertOperands(yield->getNumOperands(), scalars_);
  b_.setInsertionPointAfter(c_.loop);
  for (Value accumulators : aroundAccumulators_) {
    Value settled = settle(accumulators);
    accumulators.replaceAllUsesExcept(settled, settled.getDefiningOp());
  }
  // Nothing is on its way any more when shared memory gets another use.
  AwaitOp::create(b_, loc_, 0);
}

void Rewriter::cleanUp() {
  for (Matmul &p : c_.matmuls) {
    Operation *operand = p.dot.getB().getDefiningOp();
    p.dot.erase();
    if (operand != p.load)
      operand->erase();
    p.load.erase();
  }
  for (Operation *op : llvm::reverse(c_.addresses))
    if (op->use_empty())
      op->erase();
}

void Rewriter::run() {
  rebuild(prepare());
  b_.setInsertionPointToStart(c_.loop.getBody());
  Value number =
      arith::SubIOp::create(b_, loc_, c_.loop.getInductionVar(), c_.loop.getLowerBound());
  number = b_.createOrFold<arith::DivUIOp>(loc_, number, index(c_.step));
  number = b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(), number);
  lead(number);
  for (Matmul &p : c_.matmuls)
    if (!p.leads)
      follow(p, number);
  finish();
  cleanUp();
}

} // namespace

void pipelineBackToBack(tile::KernelOp kernel, int64_t threads, const SimtFacts &facts) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (std::optional<BackToBack> gemms = match(loop, threads, facts))
      Rewriter(std::move(*gemms)).run();
}

} // namespace sinter::sched
