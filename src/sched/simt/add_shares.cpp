// Step n is unit n % units of share n / units. With a share's first unit the accumulators of the
// one before are added to the total and cleared.
#include "sched/simt/add_shares.h"
#include "sched/simt/pipeline_dots.h"

using namespace mlir;

namespace sinter::sched {
namespace {

// Stages, and bytes that they may take, so that a multiprocessor has room for two thread blocks.
constexpr int64_t kMostDepth = 4, kLeastDepth = 2, kMostBytes = 104 * 1024;
// Eight rows' pieces of 32 bytes, which a subgroup reads together, fall on all banks.
constexpr int64_t kGap = 32;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// The two loops, and what stands in them.
struct Shares {
  scf::ForOp outer, inner;
  GroupDotOp dot;
  JoinSharesOp join;
  tile::LoadOp tokens;
  int64_t count = 0, unit = 0, depth = 0;

  int64_t stride() const { return count * unit; }
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

std::optional<Shares> match(GroupDotOp dot, const SimtFacts &facts) {
  Shares s;
  s.dot = dot;
  s.unit = tileType(dot.getA()).getDimSize(1);
  s.inner = dyn_cast<scf::ForOp>(dot->getParentOp());
  if (!isOfShares(s.inner, s.unit))
    return std::nullopt;
  s.outer = cast<scf::ForOp>(s.inner->getParentOp());
  s.tokens = dot.getA().getDefiningOp<tile::LoadOp>();
  s.count = *getConstantIntValue(s.inner.getStep()) / s.unit;
  if (!s.tokens || !s.tokens->hasOneUse() || !isFetchable(s.tokens) || !addsUp(s) || !isPlain(s))
    return std::nullopt;
  RankedTensorType tile = tileType(dot.getA());
  const int64_t stage = tile.getDimSize(0) * (tile.getDimSize(1) * 2 + kGap);
  s.depth = std::clamp(std::min(kMostBytes, facts.maxShared) / stage, kLeastDepth, kMostDepth);
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

  Shares s_;
  OpBuilder b_;
  Location loc_;
  Value pipeline_, units_, steps_, zero_;
};

Rewriter::Place Rewriter::placeOf(Value step) {
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
  return map.lookup(s_.dot.getResult());
}

void Rewriter::run() {
  RankedTensorType tile = tileType(s_.dot.getA()), sums = tileType(s_.dot.getResult());
  zero_ = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(sums)));
  units_ = b_.createOrFold<arith::CeilDivUIOp>(loc_, s_.inner.getUpperBound(), index(s_.stride()));
  steps_ = fold<arith::MulIOp>(units_, index(s_.count));
  auto type = PipelineType::get(b_.getContext(), s_.depth, tile);
  pipeline_ = MakePipelineOp::create(b_, loc_, type, /*swizzled=*/false, kGap);
  for (int64_t ahead = 0; ahead + 1 < s_.depth; ++ahead)
    fetch(index(ahead));
  auto loop = scf::ForOp::create(b_, loc_, index(0), steps_, index(1), ValueRange{zero_, zero_});
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b_.setInsertionPointToEnd(loop.getBody());
  Value step = loop.getInductionVar();
  // All threads have read the place of the step before, which is filled next.
  AwaitOp::create(b_, loc_, static_cast<uint32_t>(s_.depth - 2));
  fetch(fold<arith::AddIOp>(step, index(s_.depth - 1)));
  const Place place = placeOf(step);
  auto [total, acc] = beginShare(place, loop.getRegionIterArg(0), loop.getRegionIterArg(1));
  Value next = multiply(place, step, acc);
  scf::YieldOp::create(b_, loc_, ValueRange{total, next});
  b_.setInsertionPointAfter(loop);
  AwaitOp::create(b_, loc_, 0);
  Value sum = arith::AddFOp::create(b_, loc_, loop.getResult(0), loop.getResult(1));
  auto joined = JoinSharesOp::create(b_, loc_, tileType(s_.outer.getResult(0)), sum);
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
  SmallVector<GroupDotOp> dots;
  kernel.walk([&](GroupDotOp dot) { dots.push_back(dot); });
  for (GroupDotOp dot : dots)
    if (std::optional<Shares> shares = match(dot, facts))
      Rewriter(*shares).run();
}

} // namespace sinter::sched
