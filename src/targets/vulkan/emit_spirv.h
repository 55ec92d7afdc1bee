// Emission: kernels in SIMT IR become entry points of one SPIR-V module.
#pragma once

#include "base/status.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "targets/target.h"
#include "targets/vulkan/facts.h"
#include "tile/mlir_pch.h"

namespace sinter::targets::vulkan {

/// A kernel as the vulkan driver launches it: an entry point without descriptors whose push
/// constants are 16 words of 64 bits: the device addresses of an argument block and of 4 KiB of
/// zeros, the dispatch's base, and the block's first eleven words. These are a buffer's address for
/// each view; then in argument order a view's extents and its strides in elements for every axis
/// but a contiguous innermost one, or a scalar's bits; the grid's extents; the dispatch's base; the
/// address of the kernel's constants.
struct EmittedModule {
  mlir::OwningOpRef<mlir::spirv::ModuleOp> module;
  std::vector<EmittedKernel> kernels; // in the order of the source's
};

/// Diagnostics go to the context's handler; the Status names the kernel.
Result<EmittedModule> emitSpirv(mlir::ModuleOp simt, const VulkanFacts &facts);

} // namespace sinter::targets::vulkan
