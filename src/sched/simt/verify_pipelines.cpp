// Checks of pipelines and of the operations on them.
#include "sched/simt/verify_pipelines.h"
#include "base/checked.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/layout.h"
#include "sched/simt/split_dots.h"

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kPieceBytes = 16;
constexpr int64_t kSwizzledRowBytes = 128;

class PipelineVerifier {
public:
  PipelineVerifier(tile::KernelOp kernel, const SimtFacts &facts)
      : kernel_(kernel), facts_(facts) {}

  LogicalResult verify() {
    if (failed(verifyThreads()))
      return failure();
    WalkResult result = kernel_->walk([&](Operation *op) {
      return failed(verifyOperation(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  LogicalResult verifyThreads() {
    auto attribute = kernel_->getAttrOfType<IntegerAttr>(kThreadsName);
    if (!attribute || !attribute.getType().isSignlessInteger(64))
      return kernel_.emitOpError() << "has " << kThreadsName << " = "
                                   << kernel_->getAttr(kThreadsName) << ", expected an i64";
    threads_ = attribute.getInt();
    if (threads_ >= facts_.subgroup && threads_ <= facts_.maxThreads &&
        llvm::isPowerOf2_64(threads_))
      return success();
    return kernel_.emitOpError() << "has blocks of " << threads_
                                 << " threads, expected a power of two from " << facts_.subgroup
                                 << " to " << facts_.maxThreads;
  }

  LogicalResult verifyOperation(Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<PipelineType>(operand.getType()) && !operand.getDefiningOp<MakePipelineOp>())
        return op->emitOpError() << "uses a pipeline that is no result of 'sched.make_pipeline'";
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](MakePipelineOp pipeline) { return verifyPipeline(pipeline); })
        .Case([&](StageCopyOp fetch) { return verifyStageCopy(fetch); })
        .Case([&](AwaitOp await) { return verifyPending(await, await.getPending()); })
        .Case([&](StageReadOp read) { return verifyRead(read); })
        .Case([&](StageDotOp dot) { return verifyDot(dot); })
        .Case([&](TileDotOp dot) { return verifyTileDot(dot); })
        .Case([&](GroupDotOp dot) {
          return verifyReading(dot, static_cast<int64_t>(dot.getBeside()));
        })
        .Case([&](SplitDotOp dot) { return verifyReading(dot, besideOf(dot)); })
        .Case([&](SettleOp settle) { return verifySettle(settle); })
        .Case([&](StageStoreOp put) { return verifyPut(put); })
        .Case([&](StageAccumulateOp add) { return verifyAdd(add); })
        .Case([&](AccReadOp read) { return verifyAccRead(read); })
        .Default([](Operation *) { return success(); });
  }

  static RankedTensorType tileOf(Value pipeline) {
    return cast<PipelineType>(pipeline.getType()).getTile();
  }
  static bool isSwizzled(Value pipeline) {
    return pipeline.getDefiningOp<MakePipelineOp>().getSwizzled();
  }

  LogicalResult verifyPipeline(MakePipelineOp op) {
    RankedTensorType tile = tileOf(op.getResult());
    int64_t depth = cast<PipelineType>(op.getResult().getType()).getDepth();
    Type element = tile.getElementType();
    if (tile.getRank() != 2 || !tile.hasStaticShape() || !element.isIntOrFloat() ||
        !llvm::is_contained({8u, 16u, 32u}, element.getIntOrFloatBitWidth()))
      return op.emitOpError() << "has stages for " << tile
                              << ", expected a tile of two axes with elements of 8, 16 or 32 bits";
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    if (tile.getDimSize(0) < 1 || tile.getDimSize(1) < 1 ||
        tile.getDimSize(1) % (kPieceBytes / bytes) != 0)
      return op.emitOpError() << "has stages for " << tile << ", expected rows of whole pieces of "
                              << kPieceBytes << " bytes";
    if (failed(verifyOrder(op)))
      return failure();
    CheckedSize size = CheckedSize(depth < 0 ? 0 : depth) * CheckedSize(tile.getDimSize(0)) *
                       CheckedSize(tile.getDimSize(1)) * CheckedSize(bytes);
    uint64_t needed = size.value().value_or(UINT64_MAX);
    if (depth < 1 || needed > static_cast<uint64_t>(facts_.maxShared))
      return op.emitOpError() << "has " << depth << " stages for " << tile
                              << ", expected at least one and at most " << facts_.maxShared
                              << " bytes";
    return success();
  }

  // Whole runs of reordered elements along a row.
  LogicalResult verifyOrder(MakePipelineOp op) {
    if (op.getOrder().empty())
      return success();
    constexpr size_t kMostBits = 8;
    SmallVector<int64_t> sorted(op.getOrder());
    llvm::sort(sorted);
    const bool permutes = llvm::equal(sorted, llvm::seq<int64_t>(0, sorted.size()));
    if (op.getSwizzled() && permutes && sorted.size() <= kMostBits &&
        tileOf(op.getResult()).getDimSize(1) % (int64_t(1) << sorted.size()) == 0)
      return success();
    return op.emitOpError() << "has the order [" << op.getOrder() << "] in rows of "
                            << tileOf(op.getResult())
                            << ", expected a permutation of bits of whole rows, swizzled";
  }

  LogicalResult verifyStageCopy(StageCopyOp op) {
    auto view = cast<tile::ViewType>(op.getView().getType());
    bool plain = view.isReadable() && !view.isWritable() && !view.getInterleave() &&
                 !view.getStrided() && !op.getView().getDefiningOp<tile::GatherOp>();
    auto rank = static_cast<int64_t>(op.getOffsets().size());
    if (!plain || view.getRank() != rank || rank < 2 || (rank > 2 && !op.getAxes()))
      return op.emitOpError() << "copies from " << view << " at " << rank
                              << " offsets, expected a plain in view of two axes";
    if (std::optional<ArrayRef<int64_t>> axes = op.getAxes())
      if (axes->size() != 2 || (*axes)[0] < 0 || (*axes)[0] >= (*axes)[1] || (*axes)[1] >= rank)
        return op.emitOpError() << "copies along axes " << *axes << " of " << view
                                << ", expected two of them, ascending";
    if (view.getElementType() == tileOf(op.getPipeline()).getElementType())
      return success();
    return op.emitOpError() << "copies elements " << view.getElementType() << " to stages for "
                            << tileOf(op.getPipeline());
  }

  LogicalResult verifyPending(Operation *op, uint32_t pending) {
    if (pending <= INT32_MAX)
      return success();
    return op->emitOpError() << "leaves " << static_cast<int32_t>(pending)
                             << " groups pending, expected 0 or more";
  }

  static LogicalResult verifyTile(Operation *op, Value value, ArrayRef<int64_t> shape,
                                  Type element) {
    auto found = dyn_cast<RankedTensorType>(value.getType());
    auto expected = RankedTensorType::get(shape, element);
    if (found && found.getShape() == shape && found.getElementType() == element)
      return success();
    return op->emitOpError() << "has " << value.getType() << ", expected " << expected;
  }

  // A dot that reads the stage itself.
  static bool isReadByDot(StageReadOp op) {
    Operation *dot = op->hasOneUse() ? *op->user_begin() : nullptr;
    auto groups = dyn_cast_or_null<GroupDotOp>(dot);
    auto split = dyn_cast_or_null<SplitDotOp>(dot);
    return ((groups && groups.getReading()) || (split && split.getReading())) &&
           dot->getOperand(0) == op.getResult() && dot->getBlock() == op->getBlock();
  }

  LogicalResult verifyRead(StageReadOp op) {
    if (isSwizzled(op.getPipeline()) && !isReadByDot(op))
      return op.emitOpError() << "reads a swizzled pipeline, expected a plain one";
    RankedTensorType tile = tileOf(op.getPipeline());
    if (!op.getOrigin())
      return verifyTile(op, op.getResult(), tile.getShape(), tile.getElementType());
    auto part = dyn_cast<RankedTensorType>(op.getResult().getType());
    ArrayRef<int64_t> origin = *op.getOrigin();
    bool inside = part && part.getRank() == 2 && origin.size() == 2 &&
                  part.getElementType() == tile.getElementType();
    for (int axis = 0; inside && axis < 2; ++axis)
      inside = origin[axis] >= 0 && origin[axis] <= tile.getDimSize(axis) &&
               part.getDimSize(axis) <= tile.getDimSize(axis) - origin[axis];
    if (inside)
      return success();
    return op.emitOpError() << "reads " << op.getResult().getType() << " from [" << origin
                            << "], expected a part of " << tile;
  }

  LogicalResult verifyDot(StageDotOp op) {
    const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
    if (!instruction || !instruction->sharedOperands ||
        !llvm::is_contained(facts_.instructions, op.getInstruction()))
      return op.emitOpError() << "names '" << op.getInstruction()
                              << "', expected an instruction of the processor that reads shared "
                                 "memory";
    MLIRContext *context = op.getContext();
    RankedTensorType a = tileOf(op.getA()), b = tileOf(op.getB());
    bool fits =
        isSwizzled(op.getA()) && isSwizzled(op.getB()) && a.getDimSize(1) == b.getDimSize(1);
    for (auto [tile, type] :
         {std::pair(a, instruction->typeA(context)), std::pair(b, instruction->typeB(context))})
      fits &= tile.getElementType() == getElementTypeOrSelf(type) &&
              tile.getDimSize(1) * tile.getElementTypeBitWidth() == kSwizzledRowBytes * 8;
    if (!fits)
      return op.emitOpError() << "multiplies " << a << " with " << b
                              << ", expected swizzled pipelines with rows of " << kSwizzledRowBytes
                              << " bytes of the operands of '" << instruction->name << "'";
    SmallVector<int64_t> shape{a.getDimSize(0), b.getDimSize(0)};
    Type sum = getElementTypeOrSelf(instruction->typeC(context));
    if (failed(verifyTile(op, op.getAcc(), shape, sum)) ||
        failed(verifyTile(op, op.getResult(), shape, sum)) ||
        failed(verifyPending(op, op.getPending())))
      return failure();
    return verifyShares(op, *instruction, shape);
  }

  LogicalResult verifyTileDot(TileDotOp op) {
    const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
    if (!instruction || !instruction->sharedB ||
        !llvm::is_contained(facts_.instructions, op.getInstruction()))
      return op.emitOpError() << "names '" << op.getInstruction()
                              << "', expected an instruction of the processor that reads b in "
                                 "shared memory";
    MLIRContext *context = op.getContext();
    auto a = cast<RankedTensorType>(op.getA().getType());
    RankedTensorType b = tileOf(op.getB());
    Type element = getElementTypeOrSelf(instruction->typeA(context));
    if (a.getRank() != 2 || a.getElementType() != element || b.getElementType() != element ||
        !isSwizzled(op.getB()) || a.getDimSize(1) != b.getDimSize(0) ||
        b.getDimSize(0) % instruction->k ||
        b.getDimSize(1) * b.getElementTypeBitWidth() % (kSwizzledRowBytes * 8))
      return op.emitOpError() << "multiplies " << a << " with " << b
                              << ", expected a tile and a swizzled pipeline with rows of whole "
                              << kSwizzledRowBytes << " bytes of the operands of '"
                              << instruction->name << "'";
    // The accumulators may have fewer columns than the pipeline's panels, and rows that fill no
    // instruction.
    auto accumulators = dyn_cast<RankedTensorType>(op.getResult().getType());
    SmallVector<int64_t> shape{a.getDimSize(0), b.getDimSize(1)};
    int64_t atom = sharedAccumulators(*instruction, shape, threads_).atom(0);
    SmallVector<int64_t> whole{shape[0] + (atom - shape[0] % atom) % atom, shape[1]};
    if (accumulators && accumulators.getRank() == 2 &&
        wholePanels(accumulators.getDimSize(1)) == shape[1])
      shape[1] = accumulators.getDimSize(1);
    Type sum = getElementTypeOrSelf(instruction->typeC(context));
    if (failed(verifyTile(op, op.getAcc(), shape, sum)) ||
        failed(verifyTile(op, op.getResult(), shape, sum)))
      return failure();
    return verifyShares(op, *instruction, whole);
  }

  // What reads tokens in shared memory finds them in its order.
  template <class Op> LogicalResult verifyReading(Op op, int64_t beside) {
    if (!op.getReading())
      return success();
    StageReadOp read = op.getA().template getDefiningOp<StageReadOp>();
    const MatrixInstruction *instruction = readingInstruction(op, facts_);
    bool fits = instruction && *op.getReading() == instruction->name && read && isReadByDot(read) &&
                !read.getOrigin();
    fits =
        fits && threads_ == instruction->lanes * beside &&
        llvm::equal(read.getPipeline().getDefiningOp<MakePipelineOp>().getOrder(), orderAlongK(op));
    if (fits)
      return success();
    return op.emitOpError() << "reads by '" << *op.getReading() << "' in " << threads_
                            << " threads, expected an instruction of the processor for its tile, "
                               "and a stage of a pipeline in its order";
  }

  LogicalResult verifyShares(Operation *op, const MatrixInstruction &instruction,
                             ArrayRef<int64_t> shape) {
    bool whole = threads_ % instruction.lanes == 0;
    if (whole) {
      SimtLayout accumulators = sharedAccumulators(instruction, shape, threads_);
      whole = shape[0] % accumulators.atom(0) == 0 && shape[1] % accumulators.atom(1) == 0 &&
              !accumulators.copies();
    }
    if (whole)
      return success();
    return op->emitOpError() << "gives " << shape[0] << " x " << shape[1] << " accumulators to "
                             << threads_ << " threads, expected whole instructions '"
                             << instruction.name << "' for each group of " << instruction.lanes;
  }

  LogicalResult verifySettle(SettleOp op) {
    auto tile = dyn_cast<RankedTensorType>(op.getAcc().getType());
    if (!tile || !tile.getElementType().isF32())
      return op.emitOpError() << "settles " << op.getAcc().getType()
                              << ", expected accumulators in f32";
    return verifyTile(op, op.getResult(), tile.getShape(), tile.getElementType());
  }

  LogicalResult verifyPut(StageStoreOp op) {
    RankedTensorType tile = tileOf(op.getPipeline());
    return verifyTile(op, op.getValue(), tile.getShape(), tile.getElementType());
  }

  // The processor's instruction, if each subgroup has whole fragments of the accumulators.
  FailureOr<const MatrixInstruction *> opaqueInstruction(Operation *op, StringRef name,
                                                         ArrayRef<int64_t> shape) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    bool fits = found && found->opaqueAccumulators && found->lanes == facts_.subgroup &&
                llvm::is_contained(facts_.instructions, name) && shape.size() == 2;
    if (fits) {
      SimtLayout accumulators = sharedAccumulators(*found, shape, threads_);
      fits = shape[0] % accumulators.atom(0) == 0 && shape[1] % accumulators.atom(1) == 0 &&
             !accumulators.copies();
    }
    if (fits)
      return found;
    return op->emitOpError() << "names '" << name << "' for accumulators of " << shape << " over "
                             << threads_ << " threads, expected an instruction of the processor "
                             << "with opaque accumulators, and whole fragments for each subgroup";
  }

  LogicalResult verifyAdd(StageAccumulateOp op) {
    RankedTensorType a = tileOf(op.getA()), b = tileOf(op.getB());
    auto found = opaqueInstruction(op, op.getInstruction(), {a.getDimSize(0), b.getDimSize(0)});
    if (failed(found))
      return failure();
    MLIRContext *context = op.getContext();
    bool fits = !isSwizzled(op.getA()) && !isSwizzled(op.getB()) &&
                a.getDimSize(1) == b.getDimSize(1) && a.getDimSize(1) % (*found)->k == 0;
    for (auto [tile, type] :
         {std::pair(a, (*found)->typeA(context)), std::pair(b, (*found)->typeB(context))})
      fits &= tile.getElementType() == getElementTypeOrSelf(type);
    if (fits)
      return success();
    return op.emitOpError() << "multiplies " << a << " with " << b
                            << ", expected plain pipelines of the operands of '" << (*found)->name
                            << "' with whole steps of " << (*found)->k;
  }

  LogicalResult verifyAccRead(AccReadOp op) {
    auto tile = dyn_cast<RankedTensorType>(op.getResult().getType());
    if (!tile || !tile.getElementType().isF32())
      return op.emitOpError() << "gives " << op.getResult().getType()
                              << ", expected accumulators in f32";
    return failure(failed(opaqueInstruction(op, op.getInstruction(), tile.getShape())));
  }

  tile::KernelOp kernel_;
  const SimtFacts &facts_;
  int64_t threads_ = 0;
};

} // namespace

LogicalResult verifyPipelines(tile::KernelOp kernel, const SimtFacts &facts) {
  return PipelineVerifier(kernel, facts).verify();
}

} // namespace sinter::sched
