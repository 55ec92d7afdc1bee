// Placement: results of sinks and loop-carried tiles live in scratch; the rest streams unless
// recomputing costs more.
#include "tile/mlir_pch.h"

#include "sched/sched.h"
#include "targets/cpu/blocking/placement.h"

using namespace mlir;

namespace sinter::targets::cpu {

// Recomputing more arithmetic than this for a second reader costs more than a store and a load.
static constexpr int64_t kRecomputeLimit = 3;
// A dot reads each b element once per row block: below this many rows packing b costs more than it
// saves.
static constexpr int64_t kPackRows = 32;
// So many rows are one block of rows, which reads each b element once: it is dequantized as it is
// read unless its columns have to turn.
static constexpr int64_t kRowsOfOneBlock = 4;
// A dot reads each a element once per column block; copying a pays from this many columns, even of
// one row, since each element in a view has a check of its own.
static constexpr int64_t kCopyColumns = 32;
// Rows of a copied operand are spread over cache sets by one line.
static constexpr int64_t kRowPaddingBytes = 64;

static bool onlyUnitAxesMove(RankedTensorType from, RankedTensorType to) {
  auto isOne = [](int64_t e) { return e == 1; };
  SmallVector<int64_t> a(from.getShape()), b(to.getShape());
  llvm::erase_if(a, isOne);
  llvm::erase_if(b, isOne);
  return a == b;
}

static bool isInView(Value view) {
  return cast<tile::ViewType>(view.getType()).getAccess() == tile::Access::In;
}

bool isStreamable(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return isInView(load.getView());
  if (auto reshape = dyn_cast<tile::ReshapeOp>(op))
    return onlyUnitAxesMove(cast<RankedTensorType>(reshape.getValue().getType()),
                            cast<RankedTensorType>(reshape.getResult().getType()));
  if (isa<tile::SplatOp, tile::IotaOp, tile::BroadcastOp, tile::PermuteOp, tile::SliceOp,
          tile::QuantizeOp, tile::DequantizeOp, arith::ConstantOp, sched::PairOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>();
}

tile::DequantizeOp dequantizingOf(Value value) {
  while (true) {
    Operation *op = value.getDefiningOp();
    auto reshape = dyn_cast_if_present<tile::ReshapeOp>(op);
    if (!isa_and_present<arith::TruncFOp, sched::PairOp>(op) && !(reshape && isStreamable(reshape)))
      return dyn_cast_if_present<tile::DequantizeOp>(op);
    value = op->getOperand(0);
  }
}

static int64_t costOf(Operation *op) {
  if (isa<tile::SplatOp, tile::IotaOp, tile::BroadcastOp, tile::ReshapeOp, tile::PermuteOp,
          tile::SliceOp, arith::ConstantOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp, tile::QuantizeOp, tile::DequantizeOp>(op))
    return kRecomputeLimit + 1;
  return 1;
}

namespace {
class Placer {
public:
  Placer(tile::KernelOp kernel, const CpuFacts &facts) : kernel_(kernel), facts_(facts) {}
  Placement run();

private:
  void findCollectors();
  Operation *commonCollector(Operation *a, Operation *b) const;
  void placeResult(Operation *op);
  void placeDotOperands(tile::DotOp dot);
  bool worthScratch(Operation *op, Value result);
  Operation *lastCollector(Operation *op) const;
  bool isSpreadAlongRows(Value value) const;
  int64_t coneCost(Value value);

  tile::KernelOp kernel_;
  const CpuFacts &facts_;
  Placement placement_;
  llvm::DenseMap<Value, int64_t> cost_;
  // The nearest later operation that every reader of an operation's result streams into; null where
  // its readers end in several places. And how many collectors follow.
  llvm::DenseMap<Operation *, Operation *> collector_;
  llvm::DenseMap<Operation *, int64_t> depth_;
};
} // namespace

// Whether readers of the operation's result ask block by block where it itself is asked.
static bool passesOn(Operation *op) {
  return op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         isStreamable(op);
}

Operation *Placer::commonCollector(Operation *a, Operation *b) const {
  while (a != b) {
    if (!a || !b)
      return nullptr;
    Operation *&deeper = depth_.lookup(a) >= depth_.lookup(b) ? a : b;
    deeper = collector_.lookup(deeper);
  }
  return a;
}

// Post-dominators of the graph of streams, readers before what they read.
void Placer::findCollectors() {
  SmallVector<Operation *> order;
  kernel_.walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order)) {
    if (!passesOn(op) || op->use_empty())
      continue; // a sink: streams end here
    Operation *common = *op->user_begin();
    for (Operation *user : op->getUsers())
      common =
          common && user->getBlock() == op->getBlock() ? commonCollector(common, user) : nullptr;
    collector_[op] = common;
    depth_[op] = common ? depth_.lookup(common) + 1 : 0;
  }
}

// Operations in the cone that a reader would recompute; values are visited in program order, so
// operands are known.
int64_t Placer::coneCost(Value value) {
  if (placement_.of(value) == Place::Scratch)
    return 0;
  return cost_.lookup(value);
}

// The end of the stream that the operation's result is part of, or where it parts.
Operation *Placer::lastCollector(Operation *op) const {
  while (Operation *next = collector_.lookup(op))
    op = next;
  return op;
}

// One number for each of many rows, which every element of its row reads: made where it is read, it
// is made row by row in scalars (attention's maxima: 22 of 69 cycles of a row of 64 exponentials).
// What ends in one store stays there, so that a matmul's accumulators may end in registers.
bool Placer::isSpreadAlongRows(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() > 1 && type.getShape().back() == 1 &&
         type.getNumElements() >= facts_.lanes &&
         llvm::any_of(value.getUsers(), [&](Operation *user) {
           auto broadcast = dyn_cast<tile::BroadcastOp>(user);
           return broadcast &&
                  cast<RankedTensorType>(broadcast.getResult().getType()).getShape().back() > 1 &&
                  !isa<tile::StoreOp>(lastCollector(user));
         });
}

bool Placer::worthScratch(Operation *op, Value result) {
  int64_t cost = coneCost(result);
  bool deeper = llvm::any_of(result.getUsers(), [&](Operation *user) {
    return user->getBlock() != op->getBlock() && !isa<scf::YieldOp>(user);
  });
  // Loads are as cheap again, and truth values and indices have no bytes of their own.
  Type element = getElementTypeOrSelf(result.getType());
  if (isa<tile::LoadOp>(op) || element.isInteger(1) || element.isIndex())
    return false;
  if (cost > 0 && (deeper || isSpreadAlongRows(result)))
    return true;
  return !result.hasOneUse() && !collector_.lookup(op) && cost > kRecomputeLimit;
}

void Placer::placeResult(Operation *op) {
  for (Value result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    if (!isStreamable(op)) {
      placement_.places[result] = Place::Scratch;
      continue;
    }
    int64_t cost = costOf(op);
    for (Value operand : op->getOperands())
      cost += coneCost(operand);
    cost_[result] = cost;
    if (worthScratch(op, result))
      placement_.places[result] = Place::Scratch;
  }
}

void Placer::placeDotOperands(tile::DotOp dot) {
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  int64_t rows = acc.getDimSize(0), columns = acc.getDimSize(1);
  auto padding = [](Value v) {
    unsigned bits = cast<RankedTensorType>(v.getType()).getElementTypeBitWidth();
    return kRowPaddingBytes * 8 / bits;
  };
  bool pairs = dot.getA().getDefiningOp<sched::PairOp>(); // one word alone is no vector
  if (!isBlockTile(dot.getA()) && (columns >= kCopyColumns || pairs)) {
    placement_.places[dot.getA()] = Place::Scratch;
    placement_.layouts[dot.getA()].rowPadding = padding(dot.getA());
  }
  bool packs = rows >= kPackRows ||
               (dequantizingOf(dot.getB()) && (dot.getTransposeB() || rows > kRowsOfOneBlock));
  if (!isBlockTile(dot.getB()) && packs && placement_.of(dot.getB()) == Place::Stream) {
    bool alone = dot.getB().hasOneUse();
    placement_.places[dot.getB()] = alone ? Place::Packed : Place::Scratch;
    placement_.layouts[dot.getB()].transposed = dot.getTransposeB();
  }
}

Placement Placer::run() {
  findCollectors();
  kernel_.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      for (Value arg : loop.getRegionIterArgs())
        if (isa<RankedTensorType>(arg.getType()))
          placement_.places[arg] = Place::Scratch;
    placeResult(op);
  });
  kernel_.walk([&](tile::DotOp dot) { placeDotOperands(dot); });
  return std::move(placement_);
}

Placement placeTiles(tile::KernelOp kernel, const CpuFacts &facts) {
  return Placer(kernel, facts).run();
}

} // namespace sinter::targets::cpu
