// Blocking: a tile kernel becomes loops over register blocks and scratch, the CPU's scheduled form.
#pragma once

#include "targets/cpu/blocking/demand.h"
#include "targets/cpu/blocking/placement.h"
#include "targets/cpu/facts.h"

namespace sinter::targets::cpu {

/// The attribute of a load whose packed rows all lie in its view: no vector of them needs a mask.
inline constexpr char kRowsInside[] = "sched.rows_inside";

/// Returns a new kernel in `module` with tile values replaced by register blocks of at most the
/// accumulator budget, streamed from views or held in sched buffers. Fails with a diagnostic at the
/// operation that it has no form for.
mlir::FailureOr<tile::KernelOp> blockKernel(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
