// Step n is unit n % units of share n / units. With a share's first unit the accumulators of the
// one before are added to the total and cleared. Where blocks have a share each, step n is its unit
// n.
#include "sched/simt/add_shares.h"
#include "sched/simt/decisions.h"
#include "sched/simt/layout.h"
#include "sched/simt/pipeline_dots.h"
#include "sched/simt/split_dots.h"

using namespace mlir;

namespace sinter::sched {
namespace {

// Stages, and bytes that they may take, so that a multiprocessor has room for two thread blocks, or
// for three.
constexpr int64_t kMostDepth = 4, kLeastDepth = 2;
constexpr int64_t kMostBytes = 104 * 1024, kMostBytesOfThree = 70 * 1024;
// A tile whose threads have registers for three blocks. Two leave each scheduler two subgroups, for
// whose latencies it waits (28672 x 4096 of Q4_K with 64 tokens on an H200: it issued in 43 of 100
// cycles).
constexpr int64_t kFewSums = 4096, kFewColumns = 64;

// Where an instruction reads tokens in shared memory: groups of its lanes in a thread block, whose
// rows of weights lie side by side, and tokens of a tile that leaves registers for three such
// groups of a multiprocessor, else for two. Unquantized weights leave them for four.
constexpr int64_t kMostReaders = 2, kFewTokensOfReaders = 32, kUnquantizedReaders = 4;
// Bytes of a row of a pipeline that it can read.
constexpr int64_t kReadRow = 128;

// Eight rows' pieces of 32 bytes, which a subgroup reads together, fall on all banks, and two rows'
// of 64, which a quarter of one reads, of unquantized weights.
constexpr int64_t kGap = 32, kGapOfUnquantized = 64;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// The two loops, and what stands in them.
struct Shares {
  scf::ForOp outer, inner;
  Operation *dot;
  JoinSharesOp join;
  tile::LoadOp tokens;
  int64_t count = 0, unit = 0, depth = 0;
  bool inBlocks = false;                    // each block of a program has one
  int64_t resident = 0;                     // blocks for which threads have registers; 0: as others
  const MatrixInstruction *reads = nullptr; // tokens in shared memory
  int64_t readers = 0;                      // groups of its lanes

  int64_t stride() const { return count * unit; }
  int64_t gap() const { return isa<GroupDotOp>(dot) ? kGap : kGapOfUnquantized; }
  RankedTensorType tile() const { return tileType(dot->getOperand(0)); }
};

// The outer loop's total and the inner loop's accumulators, and nothing else, make the next total.
bool addsUp(Shares &s) {
  if (s.outer.getNumResults() != 1 || s.inner.getNumResults() != 1 ||
      !s.inner.getResult(0).hasOneUse())
    return false;
  s.join = dyn_cast<JoinSharesOp>(*s.inner.getResult(0).user_begin());
  if (!s.join || !s.join.getResult().hasOneUse())
    return false;
  auto sum = dyn_cast<arith::AddFOp>(*s.join.getResult().user_begin());
  Value total = s.outer.getRegionIterArg(0);
  Value other = sum && sum.getLhs() == s.join.getResult() ? sum.getRhs()
                : sum                                     ? sum.getLhs()
                                                          : Value();
  auto yield = cast<scf::YieldOp>(s.outer.getBody()->getTerminator());
  return sum && other == total && total.hasOneUse() && yield.getOperand(0) == sum.getResult() &&
         matchPattern(s.outer.getInitArgs()[0], m_AnyZeroFloat()) &&
         matchPattern(s.inner.getInitArgs()[0], m_AnyZeroFloat());
}

// Whether nothing but the inner loop's own counter depends on either loop.
bool isPlain(Shares &s) {
  Value counter = s.outer.getInductionVar();
  bool plain = s.outer.isDefinedOutsideOfLoop(s.inner.getUpperBound()) && counter.hasOneUse();
  for (Value offset : s.tokens.getOffsets())
    plain &= offset == s.inner.getInductionVar() || s.outer.isDefinedOutsideOfLoop(offset);
  return plain && s.outer.isDefinedOutsideOfLoop(s.tokens.getView());
}

// Chooses the instruction that reads tokens in shared memory, if the schedule asks for it.
void chooseReader(Shares &s, tile::KernelOp kernel, const SimtFacts &facts) {
  const int64_t row = s.tile().getDimSize(1) * s.tile().getElementTypeBitWidth() / 8;
  if (!decisionOf(kernel, kReadingGroups, 0) || row % kReadRow)
    return;
  auto groups = dyn_cast<GroupDotOp>(s.dot);
  s.reads = groups ? readingInstruction(groups, facts)
                   : readingInstruction(cast<SplitDotOp>(s.dot), facts);
  if (!s.reads)
    return;
  const int64_t tiles = tileType(s.dot->getResult(0)).getDimSize(2) / s.reads->m;
  s.readers = std::min(kMostReaders, tiles & -tiles);
}

// Blocks that a multiprocessor should hold at once; 0: as of other kernels that read ahead.
int64_t residentBlocks(Shares &s) {
  const RankedTensorType sums = tileType(s.outer.getResult(0));
  if (!s.reads)
    return sums.getNumElements() <= kFewSums && sums.getDimSize(1) <= kFewColumns ? 3 : 0;
  const int64_t groups = isa<SplitDotOp>(s.dot)                      ? kUnquantizedReaders
                         : sums.getDimSize(0) <= kFewTokensOfReaders ? 3
                                                                     : 2;
  return groups / s.readers;
}

std::optional<Shares> match(Operation *dot, const SimtFacts &facts) {
  Shares s;
  s.dot = dot;
  s.unit = s.tile().getDimSize(1);
  s.inner = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!isOfShares(s.inner, s.unit))
    return std::nullopt;
  s.outer = cast<scf::ForOp>(s.inner->getParentOp());
  s.tokens = dot->getOperand(0).getDefiningOp<tile::LoadOp>();
  s.count = *getConstantIntValue(s.inner.getStep()) / s.unit;
  if (!s.tokens || !s.tokens->hasOneUse() || !isFetchable(s.tokens) || !addsUp(s) || !isPlain(s))
    return std::nullopt;
  const auto kernel = dot->getParentOfType<tile::KernelOp>();
  s.inBlocks = facts.programBlocks >= s.count && decisionOf(kernel, kShareBlocks, 1) == s.count;
  chooseReader(s, kernel, facts);
  const int64_t stage =
      s.tile().getDimSize(0) * (s.tile().getDimSize(1) * 2 + (s.reads ? 0 : s.gap()));
  s.resident = residentBlocks(s);
  const int64_t most = std::min(s.resident == 3 ? kMostBytesOfThree : kMostBytes, facts.maxShared);
  s.depth = std::clamp(most / stage, kLeastDepth, kMostDepth);
  return s;
}

class Rewriter {
public:
  explicit Rewriter(const Shares &shares) : s_(shares), b_(s_.outer), loc_(s_.outer.getLoc()) {}
  void run();

private:
  // Where along K a step is, and whether it begins a share.
  struct Place {
    Value at, begins;
  };

  Value index(int64_t value) { return arith::ConstantIndexOp::create(b_, loc_, value); }
  template <class Op> Value fold(Value a, Value b) { return b_.createOrFold<Op>(loc_, a, b); }
  Place placeOf(Value step);
  Value stageOf(Value step) {
    return b_.createOrFold<arith::IndexCastOp>(loc_, b_.getI32Type(),
                                               fold<arith::RemUIOp>(step, index(s_.depth)));
  }
  void fetch(Value step);
  std::pair<Value, Value> beginShare(const Place &place, Value total, Value acc);
  Value multiply(const Place &place, Value step, Value acc);
  void join(scf::ForOp loop);
  void chooseThreads();
  SmallVector<int64_t> order();

  Shares s_;
  OpBuilder b_;
  Location loc_;
  Value pipeline_, units_, steps_, zero_, block_;
};

Rewriter::Place Rewriter::placeOf(Value step) {
  if (s_.inBlocks)
    return {fold<arith::AddIOp>(fold<arith::MulIOp>(block_, index(s_.unit)),
                                fold<arith::MulIOp>(step, index(s_.stride()))),
            Value()};
  Value share = fold<arith::DivUIOp>(step, units_);
  Value unit = fold<arith::SubIOp>(step, fold<arith::MulIOp>(share, units_));
  Value at = fold<arith::AddIOp>(fold<arith::MulIOp>(share, index(s_.unit)),
                                 fold<arith::MulIOp>(unit, index(s_.stride())));
  return {at, b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, unit, index(0))};
}

void Rewriter::fetch(Value step) {
  const Place place = placeOf(step);
  SmallVector<Value> offsets(s_.tokens.getOffsets());
  for (Value &offset : offsets)
    if (offset == s_.inner.getInductionVar())
      offset = place.at;
  Value when = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, step, steps_);
  StageCopyOp::create(b_, loc_, s_.tokens.getView(), offsets, pipeline_, stageOf(step), when,
                      DenseI64ArrayAttr());
  CommitOp::create(b_, loc_);
}

std::pair<Value, Value> Rewriter::beginShare(const Place &place, Value total, Value acc) {
  auto branch = scf::IfOp::create(b_, loc_, TypeRange{total.getType(), acc.getType()}, place.begins,
                                  /*withElseRegion=*/true);
  OpBuilder then = branch.getThenBodyBuilder();
  Value sum = arith::AddFOp::create(then, loc_, total, acc);
  scf::YieldOp::create(then, loc_, ValueRange{sum, zero_});
  OpBuilder other = branch.getElseBodyBuilder();
  scf::YieldOp::create(other, loc_, ValueRange{total, acc});
  return {branch.getResult(0), branch.getResult(1)};
}

Value Rewriter::multiply(const Place &place, Value step, Value acc) {
  IRMapping map;
  map.map(s_.inner.getInductionVar(), place.at);
  map.map(s_.inner.getRegionIterArg(0), acc);
  for (Operation &op : s_.inner.getBody()->without_terminator()) {
    if (&op == s_.tokens.getOperation())
      map.map(s_.tokens.getResult(),
              StageReadOp::create(b_, loc_, tileType(s_.tokens.getResult()), pipeline_,
                                  stageOf(step), DenseI64ArrayAttr())
                  .getResult());
    else
      b_.clone(op, map);
  }
  return map.lookup(s_.dot->getResult(0));
}

// Each group of the instruction's lanes has rows of weights of its own.
void Rewriter::chooseThreads() {
  if (auto groups = dyn_cast<GroupDotOp>(s_.dot)) {
    groups.setReading(s_.reads->name);
    groups.setBeside(static_cast<uint64_t>(s_.readers));
  } else {
    cast<SplitDotOp>(s_.dot).setReading(s_.reads->name);
    s_.dot->setAttr(kBesideName, b_.getI64IntegerAttr(s_.readers));
  }
  s_.dot->getParentOfType<tile::KernelOp>()->setAttr(
      kThreadsName, b_.getI64IntegerAttr(s_.readers * s_.reads->lanes));
}

SmallVector<int64_t> Rewriter::order() {
  auto groups = dyn_cast<GroupDotOp>(s_.dot);
  return !s_.reads ? SmallVector<int64_t>()
         : groups  ? orderAlongK(groups)
                   : orderAlongK(cast<SplitDotOp>(s_.dot));
}

void Rewriter::run() {
  zero_ = arith::ConstantOp::create(
      b_, loc_, cast<TypedAttr>(b_.getZeroAttr(tileType(s_.dot->getResult(0)))));
  units_ = b_.createOrFold<arith::CeilDivUIOp>(loc_, s_.inner.getUpperBound(), index(s_.stride()));
  steps_ = s_.inBlocks ? units_ : fold<arith::MulIOp>(units_, index(s_.count));
  if (s_.inBlocks)
    block_ = arith::IndexCastUIOp::create(b_, loc_, b_.getIndexType(), BlockOp::create(b_, loc_));
  auto type = PipelineType::get(b_.getContext(), s_.depth, s_.tile());
  pipeline_ =
      MakePipelineOp::create(b_, loc_, type, /*swizzled=*/s_.reads != nullptr, s_.gap(), order());
  if (s_.reads)
    chooseThreads();
  for (int64_t ahead = 0; ahead + 1 < s_.depth; ++ahead)
    fetch(index(ahead));
  SmallVector<Value> sums(s_.inBlocks ? 1 : 2, zero_); // the last ones are the accumulators
  auto loop = scf::ForOp::create(b_, loc_, index(0), steps_, index(1), sums);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b_.setInsertionPointToEnd(loop.getBody());
  Value step = loop.getInductionVar();
  // All threads have read the place of the step before, which is filled next.
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(s_.depth - 2));
  fetch(fold<arith::AddIOp>(step, index(s_.depth - 1)));
  const Place place = placeOf(step);
  sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  if (!s_.inBlocks)
    std::tie(sums[0], sums[1]) = beginShare(place, sums[0], sums[1]);
  sums.back() = multiply(place, step, sums.back());
  scf::YieldOp::create(b_, loc_, sums);
  b_.setInsertionPointAfter(loop);
  AwaitOp::create(b_, loc_, 0);
  join(loop);
}

void Rewriter::join(scf::ForOp loop) {
  Value sum = loop.getResults().back();
  int64_t blocks = 1;
  if (s_.inBlocks) {
    blocks = s_.count;
    s_.dot->getParentOfType<tile::KernelOp>()->setAttr(kBlocksName, b_.getI64IntegerAttr(blocks));
  } else {
    sum = arith::AddFOp::create(b_, loc_, loop.getResult(0), sum);
  }
  auto joined = JoinSharesOp::create(b_, loc_, tileType(s_.outer.getResult(0)), sum,
                                     static_cast<uint64_t>(blocks));
  s_.outer.getResult(0).replaceAllUsesWith(joined.getResult());
  s_.outer.erase();
}

} // namespace

bool isOfShares(scf::ForOp loop, int64_t unit) {
  auto outer = loop ? dyn_cast<scf::ForOp>(loop->getParentOp()) : scf::ForOp();
  if (!outer || loop.getLowerBound() != outer.getInductionVar() ||
      getConstantIntValue(outer.getStep()) != std::optional<int64_t>(unit) ||
      getConstantIntValue(outer.getLowerBound()) != std::optional<int64_t>(0))
    return false;
  std::optional<int64_t> all = getConstantIntValue(outer.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  return all && step && *all == *step && *step % unit == 0;
}

void addShares(tile::KernelOp kernel, const SimtFacts &facts) {
  SmallVector<Operation *> dots;
  kernel.walk([&](Operation *op) {
    if (isa<GroupDotOp, SplitDotOp>(op))
      dots.push_back(op);
  });
  for (Operation *dot : dots)
    if (std::optional<Shares> shares = match(dot, facts)) {
      if (shares->resident)
        kernel->setAttr(kResidentName,
                        Builder(kernel.getContext()).getI64IntegerAttr(shares->resident));
      Rewriter(*shares).run();
    }
}

} // namespace sinter::sched
