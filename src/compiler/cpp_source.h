// C++ kernel sources. Compiling one and running what defines its kernels happen in child processes
// with limits of time, memory and file size, since both run someone's code.
#pragma once

#include "tile/front/front.h"

#include <string>

namespace sinter::compiler {

// The kernels of the C++ source at `path`, with their places in it. For sinter-compiler alone: the
// second child is this program again. NotFound: there is no C++ compiler; InvalidArgument: the
// source does not compile, defines no kernels, or wrong ones, with all diagnostics, one a line;
// Internal: its code was killed by a signal or left the process; Timeout: it was stopped.
Result<tile::KernelModule> buildCppSource(const std::string &path);

// `sinter-compiler define-kernels OBJECT OUTPUT NAME`, the second child: runs the kernel source
// that was compiled to OBJECT, for which NAME stands in messages, and writes its kernels' text to
// OUTPUT, or the diagnostics. Returns the exit code.
int defineKernels(int argc, char **argv);

} // namespace sinter::compiler
