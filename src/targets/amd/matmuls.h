// Matrix instructions as MFMA and WMMA intrinsics.
#pragma once

#include "targets/amd/facts.h"
#include "targets/simt/emit_llvm.h"

namespace sinter::targets::amd {

/// Fails with a diagnostic for an instruction that the processor lacks, and for fragments that are
/// not the instruction's.
mlir::FailureOr<mlir::Value> emitMatmul(simt::Site s, sched::MatrixOp op, const AmdFacts &facts);

} // namespace sinter::targets::amd
