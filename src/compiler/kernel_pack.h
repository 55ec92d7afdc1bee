// From a command's options to a kernel case, and from a list of commands to a bundle of cases.
#pragma once

#include "compiler/kernel_launch.h"
#include "targets/target.h"
#include "tile/front/front.h"

namespace sinter::compiler {

enum class CaseKind { Check, Time }; // with expected outputs from the tile interpreter, or without

struct PreparedCase {
  hal::KernelCase launch;
  uint64_t programs = 0; // that the interpreter ran
};

// Compiles the source's kernel that the options name and makes its arguments up; leaves that kernel
// alone in `source`. Errors are keepKernel()'s; InvalidArgument: the arguments do not fit it.
Result<PreparedCase> prepareCase(const KernelOptions &options, const targets::Target &target,
                                 tile::KernelModule &source, CaseKind kind);

// Writes the bundle of the list options.source to options.output. A line is
// `run|bench NAME [--set a=b] [--shape x=AxB] [--scalar s=v] [--fill x=0+1] [--kernel NAME]
// [--size n] [--floor share]`; # opens a comment. Errors name the line.
Result<void> packKernels(const KernelOptions &options);

} // namespace sinter::compiler
