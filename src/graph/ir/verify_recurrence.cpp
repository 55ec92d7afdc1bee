// What makes operations with states of sequences well formed.
#include "tile/mlir_pch.h"

#include "graph/ir/check.h"
#include "graph/ir/extent.h"

using namespace mlir;

namespace sinter::graph {

// A state's axes after its slots are static.
static LogicalResult verifyState(Operation *op, RankedTensorType state, RankedTensorType next,
                                 RankedTensorType spans) {
  Check check(op);
  if (failed(check.f32("state", state)) || failed(check.same("next", next, state)) ||
      failed(check.indices("spans", spans, 2)))
    return failure();
  if (spans.getDimSize(1) != 4)
    return op->emitOpError() << "spans are " << spans
                             << ", expected four columns: slot, next slot, first row, rows";
  for (int64_t axis = 1; axis < state.getRank(); ++axis)
    if (state.isDynamicDim(axis))
      return op->emitOpError() << "state is " << state
                               << ", expected static extents after the first";
  return success();
}

LogicalResult CausalConvOp::verify() {
  Check check(*this);
  RankedTensorType rows = getRows().getType(), weight = getWeight().getType(),
                   state = getState().getType();
  if (failed(check.rank("rows", rows, 2)) || failed(check.f32("rows", rows)) ||
      failed(check.rank("weight", weight, 2)) || failed(check.f32("weight", weight)) ||
      failed(check.agree("rows", rows, 1, "weight", weight, 0)) ||
      failed(check.same("result", getResult().getType(), rows)) ||
      failed(check.rank("state", state, 3)) ||
      failed(check.agree("rows", rows, 1, "state", state, 2)) ||
      failed(verifyState(*this, state, getNext().getType(), getSpans().getType())))
    return failure();
  if (weight.isDynamicDim(1) || weight.getDimSize(1) < 2 ||
      state.getDimSize(1) != weight.getDimSize(1) - 1)
    return emitOpError() << "has weight " << weight << " and state " << state
                         << ", expected at least two weights a column and rows of the state for "
                            "all but one";
  return success();
}

static LogicalResult verifyHeads(DeltaRuleOp op, Check check) {
  RankedTensorType query = op.getQuery().getType(), key = op.getKey().getType(),
                   value = op.getValue().getType();
  if (failed(check.rank("query", query, 3)) || failed(check.f32("query", query)) ||
      failed(check.same("key", key, query)) || failed(check.rank("value", value, 3)) ||
      failed(check.f32("value", value)) ||
      failed(check.agree("query", query, 0, "value", value, 0)))
    return failure();
  if (query.isDynamicDim(1) || query.isDynamicDim(2) || value.isDynamicDim(1) ||
      value.isDynamicDim(2) || value.getDimSize(1) % query.getDimSize(1) != 0)
    return op.emitOpError() << "has query " << query << " and value " << value
                            << ", expected static heads, a multiple of the keys' heads";
  for (auto [what, rows] : {std::pair("decay", op.getDecay()), {"beta", op.getBeta()}})
    if (RankedTensorType type = rows.getType();
        failed(check.rank(what, type, 2)) || failed(check.f32(what, type)) ||
        failed(check.agree(what, type, 0, "value", value, 0)) ||
        failed(check.agree(what, type, 1, "value", value, 1)))
      return failure();
  return success();
}

LogicalResult DeltaRuleOp::verify() {
  Check check(*this);
  if (failed(verifyHeads(*this, check)))
    return failure();
  RankedTensorType query = getQuery().getType(), value = getValue().getType(),
                   state = getState().getType();
  if (failed(check.same("result", getResult().getType(), value)) ||
      failed(check.rank("state", state, 4)) ||
      failed(verifyState(*this, state, getNext().getType(), getSpans().getType())) ||
      failed(check.agree("state", state, 1, "value", value, 1)) ||
      failed(check.agree("state", state, 2, "query", query, 2)) ||
      failed(check.agree("state", state, 3, "value", value, 2)))
    return failure();
  if (!getScale().isFinite())
    return emitOpError() << "has a scale that is not a number";
  return success();
}

int64_t DeltaRuleOp::keyHeadOf(int64_t head) {
  const int64_t keyHeads = getKey().getType().getDimSize(1);
  return getNeighbours() ? head / (getValue().getType().getDimSize(1) / keyHeads) : head % keyHeads;
}

Value stateBefore(Operation *op) {
  if (auto append = dyn_cast<KvAppendOp>(op))
    return append.getPool();
  if (auto conv = dyn_cast<CausalConvOp>(op))
    return conv.getState();
  if (auto rule = dyn_cast<DeltaRuleOp>(op))
    return rule.getState();
  return {};
}

Value stateAfter(Operation *op) {
  return stateBefore(op) ? op->getResults().back() : Value();
}

} // namespace sinter::graph
