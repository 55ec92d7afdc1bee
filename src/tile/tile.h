// The tile dialect in C++: types and operations; tile.td is the source of truth.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"

namespace sinter::tile {
/// A ranked tensor with static, non-zero extents of a scalar or block-format element type.
bool isTileType(mlir::Type type);

/// The row of the block format table, or the activation format, of a block type; null of others.
const BlockFormat *blockFormatOf(mlir::Type element);
const ActivationFormat *activationFormatOf(mlir::Type element);

/// Of a kernel's in-views: no launch changes what they show.
inline constexpr llvm::StringLiteral kConstantName = "tile.constant";
} // namespace sinter::tile

#include "tile/tile_dialect.h.inc"
#include "tile/tile_enums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "tile/tile_types.h.inc"
#define GET_OP_CLASSES
#include "tile/tile_ops.h.inc"

namespace sinter::tile {
inline bool isMax(ReduceKind kind) {
  return kind == ReduceKind::Max || kind == ReduceKind::MaxAnyNan;
}

/// Of a kernel: a dictionary of whole numbers, decisions that its target takes otherwise than by
/// rules. Which there are is the target's matter; none changes a bit of a result.
inline constexpr llvm::StringLiteral kScheduleName = "tile.schedule";

/// Null where there is none.
mlir::DictionaryAttr scheduleOf(KernelOp kernel);
void setSchedule(KernelOp kernel, llvm::ArrayRef<std::pair<std::string, int64_t>> decisions);

/// Of a kernel's view: the strides that every launch gives it, one for each dimension,
/// ShapedType::kDynamic where launches differ. Launches pass them even so.
inline constexpr llvm::StringLiteral kStridesName = "tile.strides";

/// Empty where there is none.
llvm::ArrayRef<int64_t> stridesOf(KernelOp kernel, unsigned argument);
void setStrides(KernelOp kernel, unsigned argument, llvm::ArrayRef<int64_t> strides);
/// Marks a view as one that no launch writes.
void setConstant(KernelOp kernel, unsigned argument);
bool isConstant(KernelOp kernel, unsigned argument);
/// That of an argument along an axis.
std::optional<int64_t> givenStride(mlir::BlockArgument view, int64_t axis);
} // namespace sinter::tile
