// MLIR's analysis of integer ranges, which is told what threads and programs are numbered by.
#include "sched/simt/fold_ranges.h"
#include "sched/simt/layout.h"
#include "tile/mlir_pch.h"

#include "mlir/Analysis/DataFlow/ConstantPropagationAnalysis.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace sinter::sched {

// How many there are of what `op` numbers; 0 where that is not known.
static int64_t countOf(Operation *op) {
  auto kernel = op->getParentOfType<tile::KernelOp>();
  if (auto threads = kernel->getAttrOfType<IntegerAttr>(kThreadsName); isa<ThreadOp>(op) && threads)
    return threads.getInt();
  auto program = dyn_cast<tile::ProgramIdOp>(op);
  APInt extent;
  for (auto grid : kernel.getBody().front().getOps<tile::GridOp>())
    if (program && matchPattern(grid->getOperand(program.getAxis()), m_ConstantInt(&extent)))
      return extent.getSExtValue();
  return 0;
}

namespace {
class SimtRanges : public dataflow::IntegerRangeAnalysis {
public:
  SimtRanges(DataFlowSolver &solver, bool steps) : IntegerRangeAnalysis(solver), steps_(steps) {}

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const dataflow::IntegerValueRangeLattice *> operands,
                               ArrayRef<dataflow::IntegerValueRangeLattice *> results) override {
    int64_t count = isa<ThreadOp, tile::ProgramIdOp>(op) ? countOf(op) : 0;
    if (count < 1)
      return IntegerRangeAnalysis::visitOperation(op, operands, results);
    unsigned bits = ConstantIntRanges::getStorageBitwidth(op->getResult(0).getType());
    APInt least = APInt::getZero(bits), most(bits, static_cast<uint64_t>(count - 1));
    auto range = ConstantIntRanges::fromUnsigned(least, most)
                     .intersection(ConstantIntRanges::fromSigned(least, most));
    propagateIfChanged(results.front(), results.front()->join(IntegerValueRange(range)));
    return success();
  }

  // A counter ends at the last whole step below the bound.
  void visitNonControlFlowArguments(Operation *op, const RegionSuccessor &successor,
                                    ArrayRef<dataflow::IntegerValueRangeLattice *> arguments,
                                    unsigned firstIndex) override {
    auto loop = dyn_cast<scf::ForOp>(op);
    std::array<std::optional<int64_t>, 3> known;
    if (loop)
      known = {getConstantIntValue(loop.getLowerBound()), getConstantIntValue(loop.getUpperBound()),
               getConstantIntValue(loop.getStep())};
    auto [lower, upper, step] = known;
    if (!steps_ || successor.isParent() || !lower || !upper || !step || *lower < 0 || *step < 1 ||
        *upper <= *lower)
      return IntegerRangeAnalysis::visitNonControlFlowArguments(op, successor, arguments,
                                                                firstIndex);
    auto *counter = getLatticeElement(loop.getInductionVar());
    const unsigned bits = ConstantIntRanges::getStorageBitwidth(loop.getInductionVar().getType());
    const APInt least(bits, static_cast<uint64_t>(*lower)),
        most(bits, static_cast<uint64_t>(*lower + (*upper - 1 - *lower) / *step * *step));
    propagateIfChanged(counter,
                       counter->join(IntegerValueRange(
                           ConstantIntRanges::fromUnsigned(least, most)
                               .intersection(ConstantIntRanges::fromSigned(least, most)))));
  }

private:
  bool steps_; // whether those of loops count
};

// What is known of an erased operation must not be taken for another's at the same address.
class ForgetErased : public RewriterBase::Listener {
public:
  explicit ForgetErased(DataFlowSolver &solver) : solver_(solver) {}

protected:
  void notifyOperationErased(Operation *op) override {
    solver_.eraseState(solver_.getProgramPointAfter(op));
    for (Value result : op->getResults())
      solver_.eraseState(result);
  }

private:
  DataFlowSolver &solver_;
};
} // namespace

LogicalResult foldRanges(ModuleOp module, bool steps) {
  DataFlowSolver solver;
  solver.load<dataflow::DeadCodeAnalysis>();
  solver.load<dataflow::SparseConstantPropagation>();
  solver.load<SimtRanges>(steps);
  if (failed(solver.initializeAndRun(module)))
    return failure();
  ForgetErased listener(solver);
  RewritePatternSet patterns(module.getContext());
  arith::populateIntRangeOptimizationsPatterns(patterns, solver);
  return applyPatternsGreedily(module, std::move(patterns),
                               GreedyRewriteConfig().enableFolding(false).setListener(&listener));
}

} // namespace sinter::sched
