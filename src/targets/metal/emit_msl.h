// Emission: kernels in SIMT IR become kernel functions of one MSL source, one statement for each
// operation.
#pragma once

#include "base/status.h"
#include "targets/metal/facts.h"
#include "targets/target.h"
#include "tile/mlir_pch.h"

#include <string>
#include <vector>

namespace sinter::targets::metal {

inline constexpr llvm::StringLiteral kInstructionPrefix = "metal.simdgroup.8x8x8.";

/// A kernel's interface, the same for all: buffer 0 holds 64-bit words: a buffer's GPU address for
/// each view; then in argument order a view's extents and its strides in elements for every axis
/// but a contiguous innermost one, or a scalar's bits; then the grid's extents. A kernel with
/// EmittedKernel::sharedBytes has threadgroup memory 0 of that length, a multiple of 16.
/// Threadgroups have EmittedKernel::threads threads along x; addresses of views are multiples of
/// 16. The text asks for exact arithmetic, and so must who compiles it: MTLMathModeSafe, or no fast
/// math where there is no such mode. The result is a part for joinSource (source.h). Diagnostics go
/// to the context's handler; the Status names the kernel.
Result<std::string> emitMsl(mlir::ModuleOp simt, const MetalFacts &facts,
                            std::vector<EmittedKernel> &kernels);

} // namespace sinter::targets::metal
