// What a fused function must be so that it can be lowered.
#pragma once

#include "base/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter::engine {

/// Whether operations have the forms that kernels have: one block without arguments, edges that
/// agree on their names' types, extents, element types and shapes. Unsupported names what has not.
Result<void> checkForm(mlir::func::FuncOp function);

} // namespace sinter::engine
