// Loops over blocks that are rounded: a trip rounds what the trip before it computed.
//
// To round a block is one long chain of instructions (its maximum, a scale, a quotient, codes,
// their sum), and so is much of what makes numbers (exp, quotients). One after the other they are
// more than a processor looks ahead, so it waits for each; side by side they wait together.
#pragma once

#include "targets/cpu/facts.h"
#include "tile/tile.h"

namespace sinter::targets::cpu {

// On a blocked kernel.
void delayQuantization(tile::KernelOp kernel, const CpuFacts &facts);

} // namespace sinter::targets::cpu
