// What a launch must be, by hand or by a pattern: slots that its kernel has, operands that fit.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"

using namespace mlir;

namespace sinter::graph {

static LogicalResult verifyEdges(LaunchOp launch) {
  mlir::Block &body = launch.getBody().front();
  if (!llvm::equal(body.getArgumentTypes(), launch.getOperandTypes()))
    return launch.emitOpError() << "has a body whose arguments are not of the operands' types";
  auto end = dyn_cast_or_null<ReturnOp>(body.empty() ? nullptr : &body.back());
  if (!end)
    return launch.emitOpError() << "has a body that does not end with graph.return";
  if (!llvm::equal(end.getOperandTypes(), launch.getResultTypes()))
    return end.emitOpError() << "returns other types than the launch has results";
  return success();
}

// Position of a slot on the way through the kernel; the main operation is between.
static int placeOf(StringRef slot) {
  return slot == kPrologue ? 0 : slot.empty() ? 1 : slot == kEpilogue ? 2 : 3;
}

static bool offers(const LaunchKernel *kernel, StringRef slot) {
  return kernel && ((slot == kPrologue && kernel->prologue) ||
                    (slot == kEpilogue && kernel->epilogue) || (slot == kStore && kernel->store));
}

// The operations that kernels have slots for.
static bool fitsSlot(Operation *op, StringRef slot) {
  if (slot == kPrologue)
    return isa<NormOp>(op);
  if (slot == kEpilogue)
    return isa<SliceOp, ReshapeOp, MapOp, RopeOp>(op);
  return isa<ReshapeOp, QuantizeOp, KvAppendOp>(op);
}

static LogicalResult verifySlots(LaunchOp launch, const LaunchKernel *kernel) {
  int place = 0, mains = 0;
  for (Operation &op : launch.getBody().front().without_terminator()) {
    StringRef slot = slotOf(&op);
    mains += slot.empty();
    if (!slot.empty() && !offers(kernel, slot))
      return op.emitOpError() << "is in slot '" << slot << "', which kernel '" << launch.getKernel()
                              << "' does not have";
    if (!slot.empty() && !fitsSlot(&op, slot))
      return op.emitOpError() << "is in slot '" << slot << "', which takes no such operation";
    if (placeOf(slot) < place)
      return op.emitOpError() << "comes too late for "
                              << (slot.empty() ? "the operation of the kernel" : slot)
                              << ": a body is prologue, operation, epilogue, store";
    place = placeOf(slot);
  }
  if (mains != 1)
    return launch.emitOpError() << "has " << mains
                                << " operations without a slot, expected the one of its kernel";
  return success();
}

static LogicalResult verifyKernel(LaunchOp launch, const LaunchKernel *kernel) {
  Operation *main = mainOf(launch);
  StringRef expected = kernel ? StringRef(kernel->operation) : launch.getKernel();
  StringRef found = main->getName().stripDialect();
  if (found != expected)
    return launch.emitOpError() << "names kernel '" << launch.getKernel()
                                << "', which does not do '" << found << "'";
  return success();
}

static LogicalResult verifyBuckets(LaunchOp launch, const LaunchKernel *kernel) {
  std::optional<ArrayAttr> buckets = launch.getBuckets();
  if (!buckets)
    return kernel && kernel->buckets
               ? launch.emitOpError() << "has no buckets, expected prefill, small or one"
               : success();
  if (!kernel || !kernel->buckets || buckets->empty())
    return launch.emitOpError() << "has buckets, which kernel '" << launch.getKernel()
                                << "' does not have";
  for (Attribute bucket : *buckets)
    if (!llvm::is_contained({kPrefillBucket, kSmallBucket, kOneBucket},
                            cast<StringAttr>(bucket).getValue()))
      return launch.emitOpError() << "has bucket " << bucket << ", expected prefill, small or one";
  return success();
}

// Each row of the weight once.
static LogicalResult verifyRowOrder(LaunchOp launch) {
  std::optional<ArrayAttr> order = launch.getRowOrder();
  if (!order)
    return success();
  auto matmul = mainOf<DotGeneralOp>(launch);
  if (!matmul)
    return launch.emitOpError() << "has a row order and no weight whose rows are packed";
  for (Attribute part : *order) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(part);
    if (!numbers || numbers.size() % 2 == 0 ||
        llvm::any_of(numbers.asArrayRef(), [](int64_t n) { return n < 0; }))
      return launch.emitOpError() << "has row order part " << part
                                  << ", expected [first row, extent, stride, ...]";
  }
  const int64_t rows = matmul.getB().getType().getDimSize(0);
  llvm::BitVector taken(static_cast<unsigned>(rows));
  for (const RowPart &part : rowOrderOf(launch)) {
    int64_t count = 1;
    for (auto [extent, stride] : part.digits)
      if (extent <= 0 || __builtin_mul_overflow(count, extent, &count) || count > rows)
        return launch.emitOpError() << "has a row order of more rows than the weight's " << rows;
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = part.first, rest = i;
      for (auto [extent, stride] : part.digits) {
        row += rest % extent * std::min(stride, rows);
        rest /= extent;
      }
      if (row >= rows || taken.test(static_cast<unsigned>(row)))
        return launch.emitOpError() << "has a row order that takes row " << row
                                    << " of the weight's " << rows << " twice or has none";
      taken.set(static_cast<unsigned>(row));
    }
  }
  if (!taken.all())
    return launch.emitOpError() << "has a row order that leaves out rows of the weight's " << rows;
  return success();
}

LogicalResult LaunchOp::verify() {
  const LaunchKernel *kernel = findLaunchKernel(getKernel());
  if (failed(verifyEdges(*this)) || failed(verifySlots(*this, kernel)) ||
      failed(verifyKernel(*this, kernel)) || failed(verifyBuckets(*this, kernel)))
    return failure();
  if (getColumns().value_or(1) <= 0 || getHeadColumns().value_or(1) <= 0)
    return emitOpError() << "has a number of columns that is not positive";
  return verifyRowOrder(*this);
}

} // namespace sinter::graph
