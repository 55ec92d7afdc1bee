// LLVM IR to AMD's machine code.
#pragma once

#include "base/status.h"
#include "targets/amd/facts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::targets::amd {

/// What the back end takes, and what it makes of it.
struct ObjectTexts {
  std::string llvm, assembly;
};

/// Optimises `module` for the processor and returns a relocatable object; `texts` are filled in
/// where given. Unsupported, in LLVM's words, where the back end refuses a kernel.
Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const AmdFacts &facts,
                                           ObjectTexts *texts);

} // namespace sinter::targets::amd
