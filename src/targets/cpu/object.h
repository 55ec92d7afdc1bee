// LLVM IR to machine code, in this process.
#pragma once

#include "base/status.h"
#include "targets/cpu/facts.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::targets::cpu {

/// Optimises `module` for `facts` and returns a relocatable object; `assembly`, where given,
/// receives its text.
Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const CpuFacts &facts,
                                           std::string *assembly);

} // namespace sinter::targets::cpu
