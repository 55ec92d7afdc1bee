// A sum that is folded into another ends as -0, which added to any number leaves it as it is.
#include "sched/simt/fold_sums.h"

using namespace mlir;

namespace sinter::sched {

// Sums that a thread keeps of each result: a multiply-add waits for the one before it in its sum,
// and four of them hide that wait even where a multiprocessor has few subgroups.
static constexpr size_t kSumsKept = 4;

namespace {
/// A sum that a loop carries, and the multiply-add that is its next value.
struct CarriedSum {
  unsigned number;
  math::FmaOp next;
};
} // namespace

static std::optional<CarriedSum> carriedSum(scf::ForOp loop, unsigned number) {
  BlockArgument sum = loop.getRegionIterArg(number);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto next = yield.getOperand(number).getDefiningOp<math::FmaOp>();
  if (!next || !next.getType().isF32() || next.getC() != sum || !sum.hasOneUse() ||
      !next->hasOneUse() || next->getBlock() != loop.getBody() ||
      !matchPattern(loop.getInitArgs()[number], m_PosZeroFloat()) ||
      !loop.getResult(number).hasOneUse())
    return std::nullopt;
  return CarriedSum{number, next};
}

// What a value becomes through additions whose results have one use each, to the last of them.
static Value totalOf(Value value) {
  while (value.hasOneUse() && isa<arith::AddFOp>(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return value;
}

// Lets every fourth multiply-add, in the order of registers, add to the result of the one before.
static void fold(scf::ForOp loop, ArrayRef<CarriedSum> sums) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder b(loop);
  for (size_t at = kSumsKept; at < sums.size(); ++at) {
    math::FmaOp next = sums[at].next, before = sums[at - kSumsKept].next;
    if (next->isBeforeInBlock(before))
      next->moveAfter(before);
    next.getCMutable().assign(before.getResult());
    const unsigned folded = sums[at].number;
    yield->setOperand(sums[at % kSumsKept].number, next.getResult());
    yield->setOperand(folded, loop.getRegionIterArg(folded));
    Value none = arith::ConstantOp::create(b, loop.getLoc(), b.getF32FloatAttr(-0.0f));
    loop.getResult(folded).replaceAllUsesWith(none);
  }
}

static void foldSums(scf::ForOp loop) {
  llvm::MapVector<Value, SmallVector<CarriedSum>> byTotal;
  for (unsigned number = 0; number < loop.getNumRegionIterArgs(); ++number)
    if (std::optional<CarriedSum> sum = carriedSum(loop, number))
      byTotal[totalOf(loop.getResult(number))].push_back(*sum);
  for (const auto &[total, sums] : byTotal)
    fold(loop, sums);
}

void foldSums(tile::KernelOp kernel) {
  if (kernel->hasAttr(kFoldsSums))
    kernel.walk([](scf::ForOp loop) { foldSums(loop); });
}

} // namespace sinter::sched
