// One operation of a graph under evaluation.
#pragma once

#include "graph/evaluate/tensor.h"
#include "graph/graph.h"

namespace sinter::graph {

/// Operands as they are and results as zeros of their shapes. Whoever evaluates writes the results;
/// they are rounded to their element types afterwards, but for kv_append's, whose rows are.
struct Call {
  Precision precision;
  llvm::SmallVector<const Tensor *> operands;
  llvm::SmallVector<Tensor, 2> results;

  const Tensor &operand(size_t i) const { return *operands[i]; }
  Tensor &result() { return results[0]; }
};

// arithmetic.cpp
void evaluateDot(DotGeneralOp op, Call &call);
void evaluateReduce(ReduceOp op, Call &call);
void evaluateNorm(NormOp op, Call &call);
void evaluateSquareSums(Call &call);

// map.cpp
void evaluateMap(MapOp op, Call &call);
void evaluateFold(FoldOp op, Call &call);

// shapes.cpp
void evaluateConstant(ConstantOp op, Call &call);
void evaluateIota(IotaOp op, Call &call);
void evaluateGather(GatherOp op, Call &call);
void evaluateTranspose(TransposeOp op, Call &call);
Result<void> evaluateSlice(SliceOp op, Call &call);
void evaluateConcat(ConcatOp op, Call &call);
void evaluatePad(PadOp op, Call &call);

// decoder.cpp
void evaluateRopeTable(RopeTableOp op, Call &call);
void evaluateRope(RopeOp op, Call &call);
Result<void> evaluateKvAppend(KvAppendOp op, Call &call);
Result<void> evaluateAttention(PagedAttentionOp op, Call &call);

// routing.cpp
void evaluateTopK(TopKOp op, Call &call);
void evaluateRoute(RouteOp op, Call &call);
void evaluateGroupRows(GroupRowsOp op, Call &call);
void evaluateSpreadRows(SpreadRowsOp op, Call &call);
void evaluateGroupedDot(GroupedDotOp op, Call &call);
void evaluateCombineRows(CombineRowsOp op, Call &call);

// recurrence.cpp
Result<void> evaluateCausalConv(CausalConvOp op, Call &call);
Result<void> evaluateDeltaRule(DeltaRuleOp op, Call &call);

} // namespace sinter::graph
