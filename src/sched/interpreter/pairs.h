// Pairs of neighbours in the scheduled interpreter.
#pragma once

#include "sched/sched.h"
#include "tile/interpreter/engine.h"

namespace sinter::sched {

Result<void> executePair(PairOp op, tile::Task &task);

} // namespace sinter::sched
