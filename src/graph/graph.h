// The graph dialect in C++: operations and symbolic extents; graph.td is the source of truth.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TensorEncoding.h"
#include "tile/tile.h"

namespace sinter::graph {
/// A ranked tensor of f32, f16, bf16, i32, i1 or a block format whose dynamic extents all have
/// symbols. Static extents are positive.
bool isGraphTensor(mlir::Type type);
bool isScalarElement(mlir::Type element);

/// A graph tensor: extents are numbers or symbols.
struct Extent {
  int64_t size = 0;
  llvm::StringRef symbol; // where not empty, the extent is dynamic

  Extent(int64_t size) : size(size) {}
  Extent(llvm::StringRef symbol) : symbol(symbol) {}
  Extent(const char *symbol) : symbol(symbol) {}
};
mlir::RankedTensorType tensorOf(llvm::ArrayRef<Extent> shape, mlir::Type element);

/// The symbol of axis `axis`; empty where the extent is static.
llvm::StringRef symbolOf(mlir::RankedTensorType type, int64_t axis);

/// Of all results: bytes overflow for no value of their symbols that fits; a diagnostic otherwise.
mlir::LogicalResult verifyExtents(mlir::Operation *op);
template <class Op> class BoundedExtents : public mlir::OpTrait::TraitBase<Op, BoundedExtents> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) { return verifyExtents(op); }
};

/// Whether two axes have the same static extent or the same symbol.
bool sameExtent(mlir::RankedTensorType a, int64_t axisA, mlir::RankedTensorType b, int64_t axisB);

/// Extents of a pool of values, [pages, heads, rows, dim].
struct PoolShape {
  int64_t heads, rows, dim;
};
PoolShape poolShapeOf(mlir::RankedTensorType values);

/// Loads the graph dialect and those that its regions and functions use.
void loadDialects(mlir::MLIRContext &context);
} // namespace sinter::graph

#include "graph/graph_dialect.h.inc"
#include "graph/graph_enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "graph/graph_attrs.h.inc"
#define GET_OP_CLASSES
#include "graph/graph_ops.h.inc"

namespace sinter::graph {
/// Extents of the pool that graph.kv_append writes.
PoolShape poolShapeOf(KvAppendOp op);
/// The state that an operation reads and of which it makes the next version, and that version; null
/// where it does not.
mlir::Value stateBefore(mlir::Operation *op);
mlir::Value stateAfter(mlir::Operation *op);
/// Makes these the module's symbols, in this order.
void declareSymbols(mlir::ModuleOp module, llvm::ArrayRef<SymbolAttr> symbols);
/// The module's symbols; none where it declares none.
llvm::SmallVector<SymbolAttr> symbolsOf(mlir::ModuleOp module);
/// A symbol of an extent inside `root` that is not among `declared`, with the operation that uses
/// it; null where there is none.
struct SymbolUse {
  mlir::Operation *op = nullptr;
  llvm::StringRef symbol;
};
SymbolUse undeclaredSymbol(mlir::Operation *root, llvm::ArrayRef<SymbolAttr> declared);
} // namespace sinter::graph
