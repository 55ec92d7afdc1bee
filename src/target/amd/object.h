// LLVM IR to AMD's machine code.
#pragma once

#include "base/status.h"
#include "target/amd/facts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::target::amd {

/// Optimises `module` for the processor and returns a relocatable object; `assembly`, where given,
/// receives its text. Unsupported, in LLVM's words, where the back end refuses a kernel.
Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const AmdFacts &facts,
                                           std::string *assembly);

} // namespace sinter::target::amd
