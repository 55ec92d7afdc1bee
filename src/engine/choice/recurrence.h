// Columns of programs of kernels with states of sequences.
#pragma once

#include "graph/graph.h"
#include "kernels/recurrence.h"
#include "targets/profile.h"

namespace sinter::engine {

kernels::CausalConv chooseCausalConv(graph::CausalConvOp op, const TargetProfile &profile);
kernels::DeltaRule chooseDeltaRule(graph::DeltaRuleOp op);

} // namespace sinter::engine
