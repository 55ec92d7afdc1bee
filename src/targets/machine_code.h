// What targets with LLVM back ends share: LLVM's optimiser, and lld in process.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
enum class CodeGenFileType;
} // namespace llvm

namespace sinter::targets {

/// LLVM's passes for a module that has the machine's triple and data layout. No loop is made to use
/// vectors: kernels choose their own.
enum class Effort : uint8_t { Usual, Most };
void optimise(llvm::Module &module, llvm::TargetMachine &machine, Effort effort);

/// The back end's text or object for a module, which it changes. Unsupported: the back end refuses
/// it, in its own words.
Result<std::vector<uint8_t>> generate(llvm::Module &module, llvm::TargetMachine &machine,
                                      llvm::CodeGenFileType kind);

/// Links objects into one shared object with lld, through a private folder that is removed again.
/// lld resets LLVM's options, which are the process's own: no other thread may compile meanwhile.
Result<std::vector<uint8_t>> linkShared(std::span<const std::vector<uint8_t>> objects);

} // namespace sinter::targets
