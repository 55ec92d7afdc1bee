// Rotates loops whose trips end in rounding.
#include "tile/mlir_pch.h"

#include "targets/cpu/blocking/delay_quantization.h"

#include "sched/sched.h"

using namespace mlir;

namespace sinter::targets::cpu {

namespace {

// What a trip ends in.
struct Ending {
  tile::QuantizeOp quantize;
  tile::StoreOp store;
};

} // namespace

static bool isTile(Type type) {
  return isa<RankedTensorType>(type);
}

// Numbers wait in registers for a trip, beside those that the trip needs.
static bool fitsRegisters(Value numbers, const CpuFacts &facts) {
  auto type = cast<RankedTensorType>(numbers.getType());
  return type.getElementType().isF32() && type.getShape().back() % facts.lanes == 0 &&
         type.getNumElements() <= facts.registers / 4 * facts.lanes;
}

// Places, which both halves of a trip compute, each from its own counter.
static bool makesPlaces(Operation &op) {
  return isPure(&op) && llvm::none_of(op.getOperandTypes(), isTile) &&
         llvm::none_of(op.getResultTypes(), isTile);
}

static bool makesNumbers(Operation &op) {
  return (isPure(&op) || isa<tile::LoadOp, sched::ReadOp>(op)) &&
         llvm::all_of(op.getResultTypes(), isTile);
}

// The rounding and the store of it that end a trip which writes nothing else. No view holds both
// blocks and the numbers that they are made of, so stores change nothing that a later trip reads.
static std::optional<Ending> endingOf(scf::ForOp loop, const CpuFacts &facts) {
  mlir::Block *body = loop.getBody();
  if (!loop.getInitArgs().empty() || body->without_terminator().empty())
    return std::nullopt;
  auto store = dyn_cast<tile::StoreOp>(*std::prev(body->end(), 2));
  auto quantize = store ? store.getValue().getDefiningOp<tile::QuantizeOp>() : tile::QuantizeOp();
  if (!quantize || !quantize->hasOneUse() || quantize->getBlock() != body ||
      quantize.getValue().getParentBlock() != body || !fitsRegisters(quantize.getValue(), facts))
    return std::nullopt;
  for (Operation &op : body->without_terminator())
    if (&op != store && (op.getNumRegions() || !(makesPlaces(op) || makesNumbers(op))))
      return std::nullopt;
  return Ending{quantize, store};
}

// The trip at `at` without its ending: the numbers to round.
static Value computed(OpBuilder &b, scf::ForOp loop, Ending ending, Value at) {
  IRMapping map;
  map.map(loop.getInductionVar(), at);
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != ending.quantize && &op != ending.store)
      b.clone(op, map);
  return map.lookup(ending.quantize.getValue());
}

// The ending of the trip at `at`. What it does not need of the trip is cleared away later.
static void rounded(OpBuilder &b, scf::ForOp loop, Ending ending, Value at, Value numbers) {
  IRMapping map;
  map.map(loop.getInductionVar(), at);
  for (Operation &op : loop.getBody()->without_terminator())
    if (&op != ending.store && makesPlaces(op))
      b.clone(op, map);
  map.map(ending.quantize.getValue(), numbers);
  b.clone(*ending.quantize, map);
  b.clone(*ending.store, map);
}

// The place of a loop's last trip; it has one.
static Value lastTrip(OpBuilder &b, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value span = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getLowerBound());
  Value before = arith::SubIOp::create(b, loc, span, one);
  Value steps = arith::DivUIOp::create(b, loc, before, loop.getStep());
  return arith::AddIOp::create(b, loc, loop.getLowerBound(),
                               arith::MulIOp::create(b, loc, steps, loop.getStep()));
}

static void delay(scf::ForOp loop, Ending ending) {
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(),
                                    loop.getUpperBound());
  auto branch = scf::IfOp::create(b, loc, any, /*withElseRegion=*/false);
  b.setInsertionPoint(branch.thenYield());
  Value first = computed(b, loop, ending, loop.getLowerBound());
  Value end = arith::SubIOp::create(b, loc, loop.getUpperBound(), loop.getStep());
  auto rotated =
      scf::ForOp::create(b, loc, loop.getLowerBound(), end, loop.getStep(), ValueRange{first},
                         [&](OpBuilder &in, Location, Value at, ValueRange numbers) {
                           Value next = arith::AddIOp::create(in, loc, at, loop.getStep());
                           Value made = computed(in, loop, ending, next);
                           rounded(in, loop, ending, at, numbers.front());
                           scf::YieldOp::create(in, loc, made);
                         });
  rounded(b, loop, ending, lastTrip(b, loop), rotated.getResult(0));
  loop.erase();
}

void delayQuantization(tile::KernelOp kernel, const CpuFacts &facts) {
  SmallVector<std::pair<scf::ForOp, Ending>> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (std::optional<Ending> ending = endingOf(loop, facts))
      loops.push_back({loop, *ending});
  });
  for (auto &[loop, ending] : loops)
    delay(loop, ending);
}

} // namespace sinter::targets::cpu
