// Fusion: operations become launches of kernels whose slots hold the operations that surround them.
// One pattern a file. Each pass takes a verified module and leaves a verified one.
#pragma once

#include "graph/graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <functional>

namespace sinter::graph {

/// What decides whether a fusion is possible and pays, from a target's profile.
struct FuseOptions {
  /// Prefill and decode have kernels of their own: SIMT targets.
  bool twoPhases = false;
  /// A program of attention stores the heads side by side that share keys.
  bool joinsHeads = true;
  /// Columns of half a head that a program's tile has beside their partners; 0: whole halves.
  int64_t groupColumns = 0;
  /// The same where the KV cache is in a block format.
  int64_t groupColumnsOfBlocks = 0;
  /// Others read and write the states too, so that pairs of heads keep their order in the KV cache.
  bool keepsPairs = false;
  /// Columns of a program that has one row.
  int64_t decodeColumns = 64;
  /// Numbers that programs may read again, each for itself, instead of one more launch.
  int64_t numbersPerLaunch = 0;
  /// Whether a matmul of decode, with its epilogue, multiplies rows by matrix instructions and so
  /// reads them quantized; none: no matmul does.
  std::function<bool(LaunchOp)> sharesDepth;
  /// Most rows of a step for which each program of such a matmul scales what it reads by sums of
  /// squares, instead of one launch for the norm; 0 or none: it never pays.
  std::function<int64_t(LaunchOp)> normRows;
};

/// Columns of a program that has one row, on SIMT targets.
inline constexpr int64_t kSimtDecodeColumns = 8;
FuseOptions cpuFuseOptions();
FuseOptions simtFuseOptions();

/// What a fusion saves, and what it makes every program of a launch repeat.
struct FusionCost {
  int64_t launchesSaved = 1;
  int64_t numbersRepeated = 0;
};
bool pays(const FusionCost &cost, const FuseOptions &options);

/// Whether the module has one function with a body, as splitPhases expects; a diagnostic otherwise.
mlir::LogicalResult verifyOneFunction(mlir::ModuleOp module);
/// The module's function becomes `prefill` and `decode`, each with its phase as an attribute.
void splitPhases(mlir::ModuleOp module);

/// Each operation alone becomes a launch. Inputs, state, weights, outputs, reshapes and slices
/// stay.
void wrapOperations(mlir::ModuleOp module, const FuseOptions &options);
/// Maps and attention quantize rows as they store them.
void fuseQuantizeStore(mlir::ModuleOp module, const FuseOptions &options);
/// A map with vectors of columns, such as a bias, follows the matmul.
void fuseColumnEpilogue(mlir::ModuleOp module, const FuseOptions &options);
/// Norms of heads, RoPE and appending to the KV cache are one launch.
void fuseHeadRows(mlir::ModuleOp module, const FuseOptions &options);
/// The same without norms, where a matmul's tiles do not hold heads. It comes after the QKV
/// epilogue.
void fuseOtherHeadRows(mlir::ModuleOp module, const FuseOptions &options);
/// RoPE and appending to the KV cache follow the matmul that makes queries, keys or values.
void fuseQkvEpilogue(mlir::ModuleOp module, const FuseOptions &options);
/// An elementwise map follows the matmul that makes one of its operands, or several as columns.
void fuseMapEpilogue(mlir::ModuleOp module, const FuseOptions &options);
/// RoPE works in place where nothing else reads its operand.
void placeRopeInPlace(mlir::ModuleOp module, const FuseOptions &options);
/// In decode a matmul reads the norm before it as floats, unless it shares depth and the norm does
/// not pay in its prologue. It comes after the patterns of epilogues.
void keepNormsUnquantized(mlir::ModuleOp module, const FuseOptions &options);
/// In decode, a matmul that shares K stores sums of squares of its rows, and one that reads their
/// norm scales them as it reads. It comes before the other prologue.
void fuseNormSquares(mlir::ModuleOp module, const FuseOptions &options);
/// A norm is made by each program of the matmul that reads it.
void fuseNormPrologue(mlir::ModuleOp module, const FuseOptions &options);
/// Norms quantize rows as they store them. It comes after those of prologues.
void fuseNormQuantizeStore(mlir::ModuleOp module, const FuseOptions &options);
/// An embedding reads the table that a matmul has packed.
void sharePackedTables(mlir::ModuleOp module, const FuseOptions &options);

/// All of these, in this order. With two phases the module has one function.
void fuse(mlir::ModuleOp module, const FuseOptions &options);

} // namespace sinter::graph
