// Where `sinter kernel` takes its kernels from: a registered name, a textual file, or a C++ source.
#pragma once

#include "kernels/registry.h"
#include "tile/front.h"

namespace sinter::compiler {

// `what` is a registered kernel's name, a file with the textual form, or a .cpp source against
// include/sinter, which is compiled with clang and run. A registered kernel's settings that are not
// given are those that suit `target`. InvalidArgument holds all diagnostics, one a line.
Result<tile::KernelModule> loadKernels(const std::string &what, const kernels::Settings &settings,
                                       std::string_view target);

// Compiles a C++ kernel source to a shared object in a temporary folder and runs it. NotFound: no
// compiler.
Result<tile::KernelModule> buildSource(const std::string &path);

} // namespace sinter::compiler
