// Settings of registered kernels that a kind of target does better with than with their own, and
// arguments of kernels whose programs would meet in the same elements with random ones.
#pragma once

#include "compiler/kernel_options.h"
#include "targets/profile.h"
#include "tile/tile.h"

namespace sinter::compiler {

// `given` with a setting added for each that the target's kind has a default for and that is
// not given.
kernels::Settings withDefaults(const kernels::KernelEntry &entry, targets::TargetKind kind,
                               kernels::Settings given);

// `given` with contents, and extents, added for those arguments of `kernel` that are known by
// their names and not given: indices of different rows, sequences that hold their positions.
ArgumentRequest withDefaults(tile::KernelOp kernel, ArgumentRequest given);

} // namespace sinter::compiler
