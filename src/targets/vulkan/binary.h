// SPIR-V modules as bytes: parts that can be joined, and the binary that devices load.
#pragma once

#include "base/status.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

#include <set>
#include <span>
#include <vector>

namespace sinter::targets::vulkan {

/// The oldest version with what `capabilities` name, and their extensions.
mlir::spirv::VerCapExtAttr tripleOf(const std::set<mlir::spirv::Capability> &capabilities,
                                    mlir::MLIRContext *context);

/// Gives the kernel `symbol` of a module these words, which the driver lays in memory. The binary
/// has them as a string (hal/vulkan/spirv_code.h).
void addConstants(mlir::spirv::ModuleOp module, llvm::StringRef symbol,
                  llvm::ArrayRef<int32_t> words);

std::vector<uint8_t> writePart(mlir::spirv::ModuleOp module);

/// One SPIR-V binary, little-endian words, with the entry points of all parts; their names are
/// distinct. Internal: a part is not writePart's, or two have an entry point of the same name.
Result<std::vector<uint8_t>> linkParts(std::span<const std::vector<uint8_t>> parts);

} // namespace sinter::targets::vulkan
