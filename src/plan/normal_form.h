// What a plan does, as text without names: two plans with equal text launch the same code on the
// same buffers in the same order. For comparing what a compiler builds before and after a change.
#pragma once

#include "plan/plan.h"

#include <span>
#include <string>

namespace sinter::plan {

// Left out: texts, labels and names, what only explain reads (bytes moved, operations, covered
// graph operations), schedules. Buffers and symbols are numbered by first use; buffers that no
// step uses follow in the plan's order, symbols that nothing uses are left out. Kernel i stands as
// kernelNames[i], such as a digest of its code; plan.kernels is not read. The plan must be valid
// otherwise.
std::string normalForm(const Plan &plan, std::span<const std::string> kernelNames);

} // namespace sinter::plan
