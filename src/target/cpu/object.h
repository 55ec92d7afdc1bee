// LLVM IR to machine code, and machine code to a shared object, all in this process.
#pragma once

#include "base/status.h"
#include "target/cpu/facts.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::target::cpu {

/// Optimises `module` for `facts` and returns a relocatable object; `assembly`, where given,
/// receives its text.
Result<std::vector<uint8_t>> compileObject(llvm::Module &module, const CpuFacts &facts,
                                           std::string *assembly);

/// Links one object into a shared object with lld, through a private folder that is removed again.
Result<std::vector<uint8_t>> linkShared(const std::vector<uint8_t> &object);

} // namespace sinter::target::cpu
