// Accesses of memory as the few words that one instruction moves.
#pragma once

#include "targets/simt/emit_llvm.h"

namespace sinter::targets::simt {

mlir::Value bytePointer(Site s, mlir::Value base, mlir::Value byte);

/// The value of `op` from `pointer`, in as many instructions as its alignment asks for. Fails with
/// a diagnostic for a type that is not whole bytes.
mlir::FailureOr<mlir::Value> emitLoad(Site s, sched::ViewLoadOp op, const SimtTarget &target,
                                      mlir::Value pointer, LoadHints hints);
mlir::FailureOr<mlir::Value> emitPlainLoad(Site s, sched::SharedLoadOp op, const SimtTarget &target,
                                           mlir::Value pointer);
mlir::LogicalResult emitStore(Site s, mlir::Operation *op, const SimtTarget &target,
                              mlir::Value value, mlir::Value pointer, mlir::Value when,
                              std::optional<int64_t> align);

} // namespace sinter::targets::simt
