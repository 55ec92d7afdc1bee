// Stages of software pipelines: that no value is used in an earlier stage than makes it.
#include "sched/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::sched {

static constexpr llvm::StringLiteral kStage = "sched.stage";

namespace {

// The stages of one loop's body. Values from outside belong to no stage and are always there.
class LoopStages {
public:
  explicit LoopStages(scf::ForOp loop) : body_(*loop.getBody()), loop_(loop) {}

  LogicalResult check() {
    bool staged = false;
    for (Operation &op : body_)
      if (op.hasAttr(kStage)) {
        staged = true;
        if (failed(read(op)))
          return failure();
      }
    if (!staged)
      return success();
    infer();
    for (Operation &op : body_.without_terminator())
      if (failed(checkUses(op)))
        return failure();
    return success();
  }

private:
  LogicalResult read(Operation &op) {
    auto stage = op.getAttrOfType<IntegerAttr>(kStage);
    if (!stage || stage.getValue().isNegative())
      return op.emitOpError() << "has sched.stage = " << op.getAttr(kStage)
                              << ", expected an integer of 0 or more";
    fixed_[&op] = stage.getInt();
    return success();
  }

  // Every value that the operation or one inside it uses and that this body makes.
  SmallVector<mlir::Value> usesOf(Operation &op) {
    SmallVector<mlir::Value> uses;
    op.walk([&](Operation *inner) {
      for (mlir::Value operand : inner->getOperands())
        if (operand.getParentBlock() == &body_)
          uses.push_back(operand);
    });
    return uses;
  }

  int64_t stageOf(mlir::Value value) { return stages_.lookup_or(value, kNone); }

  // Stages only grow and come from a finite set, so this ends.
  void infer() {
    for (bool changed = true; changed;) {
      changed = false;
      for (Operation &op : body_.without_terminator()) {
        int64_t stage = kNone;
        for (mlir::Value use : usesOf(op))
          stage = std::max(stage, stageOf(use));
        if (auto fixed = fixed_.find(&op); fixed != fixed_.end())
          stage = fixed->second;
        for (mlir::Value result : op.getResults())
          changed |= raise(result, stage);
      }
      for (auto [argument, yielded] : carried())
        changed |= raise(argument, stageOf(yielded));
    }
  }

  bool raise(mlir::Value value, int64_t stage) {
    if (stage <= stageOf(value))
      return false;
    stages_[value] = stage;
    return true;
  }

  LogicalResult checkUses(Operation &op) {
    auto fixed = fixed_.find(&op);
    if (fixed == fixed_.end())
      return success();
    for (mlir::Value use : usesOf(op))
      if (stageOf(use) > fixed->second)
        return op.emitOpError() << "is in stage " << fixed->second << " but uses a value of stage "
                                << stageOf(use);
    return success();
  }

  SmallVector<std::pair<mlir::Value, mlir::Value>> carried() {
    SmallVector<std::pair<mlir::Value, mlir::Value>> pairs;
    for (auto [argument, yielded] :
         llvm::zip_equal(loop_.getRegionIterArgs(), loop_.getYieldedValues()))
      pairs.push_back({argument, yielded});
    return pairs;
  }

  static constexpr int64_t kNone = -1;
  Block &body_;
  scf::ForOp loop_;
  llvm::DenseMap<Operation *, int64_t> fixed_;
  llvm::DenseMap<mlir::Value, int64_t> stages_;
};

} // namespace

LogicalResult verifyStages(tile::KernelOp kernel) {
  WalkResult result = kernel->walk([](scf::ForOp loop) {
    return failed(LoopStages(loop).check()) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace sinter::sched
