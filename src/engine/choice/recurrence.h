// Columns of programs of kernels with states of sequences.
#pragma once

#include "engine/choice/precision.h"
#include "graph/graph.h"
#include "kernels/recurrence.h"

namespace sinter::engine {

kernels::CausalConv chooseCausalConv(graph::CausalConvOp op, const TargetProfile &profile);
kernels::DeltaRule chooseDeltaRule(graph::DeltaRuleOp op);
kernels::DeltaRuleChunks chooseDeltaRuleChunks(graph::DeltaRuleOp op, const TargetProfile &profile);

} // namespace sinter::engine
