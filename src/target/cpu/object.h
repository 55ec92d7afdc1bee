// LLVM IR to machine code, and machine code to a shared object, all in this process.
#pragma once

#include "base/status.h"
#include "target/cpu/facts.h"
#include <cstdint>
#include <span>
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

/// Links objects into one shared object with lld, through a private folder that is removed again.
/// lld resets LLVM's options, which are the process's own: no other thread may compile meanwhile.
Result<std::vector<uint8_t>> linkShared(std::span<const std::vector<uint8_t>> objects);

} // namespace sinter::target::cpu
