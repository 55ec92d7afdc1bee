// Launches: what their bodies hold, and how several operations become one launch.
#pragma once

#include "graph/graph.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::graph {

/// The attribute that says in which slot of the kernel an operation of a body is.
inline constexpr llvm::StringLiteral kSlotName = "slot";
inline constexpr llvm::StringLiteral kPrologue = "prologue", kEpilogue = "epilogue",
                                     kStore = "store";
/// Values of `buckets`: many rows, a few, one; on SIMT targets prefill and one decode token.
inline constexpr llvm::StringLiteral kPrefillBucket = "prefill", kSmallBucket = "small",
                                     kOneBucket = "one";
/// The function attribute of a phase, and its values.
inline constexpr llvm::StringLiteral kPhaseName = "graph.phase", kPrefillPhase = "prefill",
                                     kDecodePhase = "decode";

/// A kernel family that launches name, the operation that it runs and the slots that it has.
struct LaunchKernel {
  llvm::StringLiteral name, operation;
  bool prologue = false, epilogue = false, store = false;
  bool buckets = false; // it has kernels for several numbers of rows
};
/// Null where an operation has none: then the kernel is named as the operation and has no slots.
const LaunchKernel *launchKernelOf(mlir::Operation *op);
const LaunchKernel *findLaunchKernel(llvm::StringRef name);
/// Whether a function's operation becomes a launch.
bool isLaunched(mlir::Operation *op);

/// The slot of an operation of a body; empty for the one that the kernel is for.
llvm::StringRef slotOf(mlir::Operation *op);
/// The operation that the launch's kernel is for.
mlir::Operation *mainOf(LaunchOp launch);
template <class Op> Op mainOf(LaunchOp launch) {
  return llvm::dyn_cast_or_null<Op>(mainOf(launch));
}
/// Whether a launch does its operation alone.
bool isAlone(LaunchOp launch);
/// The operations of a body in a slot, in order.
llvm::SmallVector<mlir::Operation *> inSlot(LaunchOp launch, llvm::StringRef slot);
/// Whether the launch's main operation is `Op`.
template <class Op> bool runs(LaunchOp launch) {
  return launch && mainOf<Op>(launch);
}

/// The value outside that a launch's body sees as its argument; any other value itself.
mlir::Value outerValue(mlir::Value value);

/// The launches of any of these operations, in order.
template <class... Ops> llvm::SmallVector<LaunchOp> launchesOf(mlir::ModuleOp module) {
  llvm::SmallVector<LaunchOp> launches;
  module.walk([&](LaunchOp launch) {
    if (llvm::isa_and_present<Ops...>(mainOf(launch)))
      launches.push_back(launch);
  });
  return launches;
}

/// The launch of `Op` that makes a value; null where none does.
template <class Op> LaunchOp makerOf(mlir::Value value) {
  auto launch = value.getDefiningOp<LaunchOp>();
  return runs<Op>(launch) ? launch : LaunchOp();
}
/// The only user of a value if it is an operation `Op`; null otherwise.
template <class Op> Op onlyUser(mlir::Value value) {
  return value.hasOneUse() ? llvm::dyn_cast<Op>(*value.user_begin()) : Op();
}
/// The only user of a value if it is a launch of `Op`; null otherwise.
template <class Op> LaunchOp onlyLaunch(mlir::Value value) {
  LaunchOp launch = onlyUser<LaunchOp>(value);
  return runs<Op>(launch) ? launch : LaunchOp();
}

/// A launch or another operation that becomes part of a launch. Operations that have no slot yet go
/// to `slot`; the main operation's piece has none.
struct Piece {
  mlir::Operation *op;
  llvm::StringRef slot;
};
/// Whether all that pieces read and do not make is there before `at`.
bool operandsPrecede(llvm::ArrayRef<Piece> pieces, mlir::Operation *at);
/// One launch before `at` of the pieces, which are in order and vanish. It has the attributes of
/// the piece without a slot, and as results what others read.
LaunchOp merge(llvm::ArrayRef<Piece> pieces, mlir::Operation *at);

/// A part of a weight's rows in the order in which they are packed (plan::RowSegment): its first
/// row, then digits (extent, stride), the first one's fastest.
struct RowPart {
  int64_t first = 0;
  llvm::SmallVector<std::pair<int64_t, int64_t>> digits;
};
mlir::ArrayAttr rowOrderAttr(mlir::MLIRContext *context, llvm::ArrayRef<RowPart> parts);
void setRowOrder(LaunchOp launch, llvm::ArrayRef<RowPart> parts);
llvm::SmallVector<RowPart> rowOrderOf(LaunchOp launch);

/// Whether the launch is of rows [M, K] by a weight [N, K], in whose kernel nothing follows yet but
/// a column map.
bool isPlainMatmul(LaunchOp launch);

/// Whether the launch is of rows by experts' weights, in whose kernel nothing follows yet.
bool isPlainGroupedMatmul(LaunchOp launch);

/// Whether the launch has kernels of decode alone.
bool isDecode(LaunchOp launch);
/// Whether a map is of f32 rows [T, N] in its own shape, or of one row [N] for all.
bool isRowwise(MapOp map);
/// Whether a value is f32 [columns] of the model file, which can be packed as a weight's rows are.
bool isColumnVector(mlir::Value value, int64_t columns);
/// The map with vectors such as a bias that follows a matmul before anything else; null where there
/// is none.
MapOp columnMapOf(LaunchOp matmul);
/// Columns whose squares a matmul's epilogue adds up as one sum.
inline constexpr int64_t kSquareColumns = 16;
/// The sums of squares that a matmul stores beside its map's result; null where there are none.
SquareSumsOp squaresOf(LaunchOp matmul);
/// The norm from sums of squares in a matmul's prologue; null where there is none.
NormOp normFromSquares(LaunchOp matmul);
/// What the rest of a matmul's epilogue reads: the matmul's result, after its column map.
mlir::Value columnsMadeBy(LaunchOp matmul);

/// The slices that read `value`, by ascending column, where they take each column once and nothing
/// else reads it; none otherwise.
llvm::SmallVector<SliceOp> columnSlices(mlir::Value value);
int64_t columnsOf(mlir::Value value);

/// Whether a program's tile may hold heads of so many columns.
bool fitsTile(int64_t headColumns);
/// Whether keys and values have pools of one shape and element.
bool storeAlike(KvAppendOp keys, KvAppendOp values);
/// Whether kernels write pools of this element: 16-bit floats, or blocks that fit into a head.
bool canStore(mlir::Type element, int64_t headDim);
bool canStore(KvAppendOp append);

} // namespace sinter::graph
