// Where `sinter kernel` takes its kernels from: a registered name, a textual file, or a C++ source.
#pragma once

#include "kernels/registry.h"
#include "targets/profile.h"
#include "tile/front/front.h"

namespace sinter::compiler {

inline constexpr uint64_t kMostSourceBytes = uint64_t(64) << 20;

// The text of a source or a list. InvalidArgument: no regular file, or larger than
// kMostSourceBytes.
Result<std::string> readSource(const std::string &path);

// `what` is a registered kernel's name, a file with the textual form, or a .cpp source against
// include/sinter. A registered kernel's settings that are not given are those that suit targets of
// this kind.
// InvalidArgument holds all diagnostics, one a line.
Result<tile::KernelModule> loadKernels(const std::string &what, const kernels::Settings &settings,
                                       targets::TargetKind kind);

// Keeps the kernel `name`, or the only one where `name` is empty. InvalidArgument: there is none,
// or there are several to choose from; NotFound: none of that name. Both name those there are.
Result<void> keepKernel(tile::KernelModule &module, const std::string &source,
                        const std::string &name);

} // namespace sinter::compiler
