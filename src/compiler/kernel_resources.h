// What a kernel takes of a processor's registers and shared memory.
#pragma once

#include "hal/hal.h"
#include "targets/target.h"

namespace sinter::compiler {

// Prints what is found, for linked code of `target` with these kernels: from ptxas where it is on
// PATH, called with `flags` (separated by spaces), else from the driver of `device` where that is
// given, which was told its flags before, else a sentence that says what is missing.
// InvalidArgument: ptxas refuses the code or the flags.
Result<void> printResources(const targets::Target &target, const std::vector<uint8_t> &code,
                            std::span<const hal::KernelSpec> kernels, const std::string &flags,
                            hal::Device *device);

} // namespace sinter::compiler
