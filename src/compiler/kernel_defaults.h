// Settings of registered kernels that a kind of target does better with than with their own.
#pragma once

#include "kernels/registry.h"

namespace sinter::compiler {

// `given` with a setting added for each that the target's kind ("cuda" of "cuda:sm_90a") has a
// default for and that is not given.
kernels::Settings withDefaults(const kernels::KernelEntry &entry, std::string_view target,
                               kernels::Settings given);

} // namespace sinter::compiler
