// What a kernel takes of a processor's registers and shared memory.
#pragma once

#include "hal/hal.h"
#include "target/target.h"

namespace sinter::compiler {

// Prints what is found, for code of `target`: from ptxas where it is on PATH, called with `flags`
// (separated by spaces), else from the device's driver where `device` and `spec` are given, else a
// sentence that says what is missing. InvalidArgument: ptxas refuses the code or the flags.
Result<void> printResources(const target::Target &target, const std::vector<uint8_t> &code,
                            const std::string &flags, hal::Device *device,
                            const hal::KernelSpec *spec);

} // namespace sinter::compiler
