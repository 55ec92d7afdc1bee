// What a launch must be, by hand or by a pattern: slots that its kernel has, operands that fit.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/verify_body.h"

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
static bool fitsSlot(Operation *op, StringRef slot, const LaunchKernel &kernel) {
  if (slot == kPrologue)
    return isa<NormOp>(op) || (isa<QuantizeOp>(op) && kernel.name == "matmul");
  if (slot == kEpilogue)
    return kernel.name == "norm" ? isa<NormOp>(op)
                                 : isa<SliceOp, ReshapeOp, MapOp, RopeOp, NormOp>(op);
  return isa<QuantizeOp>(op) || (isa<SquareSumsOp>(op) && kernel.name == "matmul") ||
         (isa<ReshapeOp>(op) && kernel.name == "attention") ||
         (isa<KvAppendOp>(op) && llvm::is_contained({"matmul", "rope", "norm"}, kernel.name));
}

static LogicalResult verifySlotName(Operation *op) {
  Attribute slot = op->getAttr(kSlotName);
  auto name = dyn_cast_or_null<StringAttr>(slot);
  if (!slot || (name && llvm::is_contained({kPrologue, kEpilogue, kStore}, name.getValue())))
    return success();
  return op->emitOpError() << "has slot " << slot << ", expected prologue, epilogue or store";
}

// What a body makes is for its own operations or for others.
static LogicalResult verifyUses(Operation *op) {
  if (!isLaunched(op) && !isa<ReshapeOp, SliceOp>(op))
    return op->emitOpError() << "stands in a launch, which only computes";
  for (Value result : op->getResults())
    if (result.use_empty())
      return op->emitOpError() << "makes what neither its launch nor others read";
  return success();
}

static LogicalResult verifySlots(LaunchOp launch, const LaunchKernel *kernel) {
  int place = 0, mains = 0;
  for (Operation &op : launch.getBody().front().without_terminator()) {
    if (failed(verifySlotName(&op)) || failed(verifyUses(&op)))
      return failure();
    StringRef slot = slotOf(&op);
    mains += slot.empty();
    if (!slot.empty() && !offers(kernel, slot))
      return op.emitOpError() << "is in slot '" << slot << "', which kernel '" << launch.getKernel()
                              << "' does not have";
    if (!slot.empty() && !fitsSlot(&op, slot, *kernel))
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
  if (found != expected || !isLaunched(main))
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
  if (!kernel || !kernel->buckets)
    return launch.emitOpError() << "has buckets, which kernel '" << launch.getKernel()
                                << "' does not have";
  if (buckets->empty())
    return launch.emitOpError() << "has an empty list of buckets, expected prefill, small or one";
  for (auto [at, bucket] : llvm::enumerate(*buckets))
    if (llvm::is_contained(buckets->getValue().take_front(at), bucket))
      return launch.emitOpError() << "has bucket " << bucket << " twice";
    else if (!llvm::is_contained({kPrefillBucket, kSmallBucket, kOneBucket},
                                 cast<StringAttr>(bucket).getValue()))
      return launch.emitOpError() << "has bucket " << bucket << ", expected prefill, small or one";
  return success();
}

// Digits are tried row by row.
static constexpr int64_t kMostOrderedRows = int64_t(1) << 24;

// Each row of the weight once.
static LogicalResult verifyRowOrder(LaunchOp launch) {
  std::optional<ArrayAttr> order = launch.getRowOrder();
  if (!order)
    return success();
  auto matmul = mainOf<DotGeneralOp>(launch);
  auto grouped = mainOf<GroupedDotOp>(launch);
  if (!matmul && !grouped)
    return launch.emitOpError() << "has a row order and no weight whose rows are packed";
  for (Attribute part : *order) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(part);
    if (!numbers || numbers.size() % 2 == 0 ||
        llvm::any_of(numbers.asArrayRef(), [](int64_t n) { return n < 0; }))
      return launch.emitOpError() << "has row order part " << part
                                  << ", expected [first row, extent, stride, ...]";
  }
  RankedTensorType weight = matmul ? matmul.getB().getType() : grouped.getB().getType();
  const int64_t rows = matmul ? weight.getDimSize(0) : weight.getDimSize(0) * weight.getDimSize(1);
  if (weight.isDynamicDim(0) || rows > kMostOrderedRows)
    return launch.emitOpError() << "has a row order of " << weight << ", expected at most "
                                << kMostOrderedRows << " rows";
  llvm::BitVector taken(static_cast<unsigned>(rows));
  for (const RowPart &part : rowOrderOf(launch)) {
    int64_t count = 1;
    for (auto [extent, stride] : part.digits)
      if (extent <= 0 || __builtin_mul_overflow(count, extent, &count) || count > rows)
        return launch.emitOpError() << "has a row order of more rows than the weight's " << rows;
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = std::min(part.first, rows), rest = i;
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

// Attributes of one kernel alone.
static LogicalResult verifyAttributes(LaunchOp launch) {
  auto only = [&](bool present, StringRef what, StringRef kernel) -> LogicalResult {
    if (!present || launch.getKernel() == kernel)
      return success();
    return launch.emitOpError() << "has " << what << ", which only kernel '" << kernel << "' does";
  };
  auto isPositive = [](uint64_t columns) { return static_cast<int64_t>(columns) > 0; };
  if (!isPositive(launch.getColumns().value_or(1)) ||
      !isPositive(launch.getHeadColumns().value_or(1)))
    return launch.emitOpError() << "has a number of columns that is not positive";
  if (failed(only(launch.getInPlace(), "in_place", "rope")) ||
      failed(only(launch.getPackedTable(), "packed_table", "gather")) ||
      failed(
          only(launch.getColumns() && launch.getKernel() != "grouped_matmul", "columns", "matmul")))
    return failure();
  return only(launch.getHeadColumns().has_value(), "head_columns", "matmul");
}

LogicalResult LaunchOp::verifyRegions() {
  const LaunchKernel *kernel = findLaunchKernel(getKernel());
  if (failed(verifyEdges(*this)) || failed(verifySlots(*this, kernel)) ||
      failed(verifyKernel(*this, kernel)) || failed(verifyBuckets(*this, kernel)) ||
      failed(verifyAttributes(*this)) || failed(verifyRowOrder(*this)))
    return failure();
  return verifyBody(*this);
}

} // namespace sinter::graph
