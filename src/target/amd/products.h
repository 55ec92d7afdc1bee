// Matrix instructions as MFMA and WMMA intrinsics.
#pragma once

#include "target/amd/facts.h"
#include "target/simt/emit_llvm.h"

namespace sinter::target::amd {

/// Fails with a diagnostic for an instruction that the processor lacks, and for fragments that are
/// not the instruction's.
mlir::FailureOr<mlir::Value> emitProduct(simt::Site s, sched::MatrixOp op, const AmdFacts &facts);

} // namespace sinter::target::amd
