// Lowering, operations with states of sequences.
#include "tile/mlir_pch.h"

#include "engine/choice/recurrence.h"
#include "engine/lowering.h"
#include "kernels/recurrence.h"

using namespace mlir;

namespace sinter::engine {

using plan::Expr;
using plan::KernelId;

// [C, W] as [W, C].
static BoundView transposed(const Stored &s) {
  return {s.buffer, s.byteOffset, {s.extents[1], s.extents[0]}, {s.strides[1], s.strides[0]}};
}

Result<void> Lowering::lowerCausalConv(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::CausalConvOp>(launch);
  const kernels::CausalConv p = chooseCausalConv(op, options_.profile);
  constexpr int64_t kMostWidth = 64;
  if (p.width > kMostWidth)
    return fail(Code::Unsupported, "a convolution is over " + std::to_string(p.width) +
                                       " rows, expected at most " + std::to_string(kMostWidth));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("causal_conv", p, kernels::causalConv));
  SINTER_ASSIGN(const BoundView rows, operandView(op.getRows()));
  SINTER_ASSIGN(const Stored weight, operand(op.getWeight()));
  SINTER_ASSIGN(const BoundView spans, operandView(op.getSpans()));
  SINTER_ASSIGN(const Stored state, stored(op.getState()));
  stored_[launch.getResult(1)] = state;
  const BoundView out = allocate(launch.getResult(0)).view();
  addLaunch(steps_, kernel, {rows, transposed(weight), spans, state.view(), out}, launch);
  return {};
}

// Heads [T, heads, D] whose elements are rows of one element.
static BoundView asColumns(const Stored &s) {
  return {s.buffer,
          s.byteOffset,
          {s.extents[0], s.extents[1], s.extents[2], Expr(1)},
          {s.strides[0], s.strides[1], s.strides[2], Expr(1)}};
}

Result<void> Lowering::lowerDeltaRule(graph::LaunchOp launch) {
  constexpr int64_t kMostKeyDim = 512;
  auto op = graph::mainOf<graph::DeltaRuleOp>(launch);
  const kernels::DeltaRule p = chooseDeltaRule(op);
  if (p.keyDim > kMostKeyDim)
    return fail(Code::Unsupported, "a delta rule has keys of " + std::to_string(p.keyDim) +
                                       " elements, expected at most " +
                                       std::to_string(kMostKeyDim));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("delta_rule", p, kernels::deltaRule));
  SINTER_ASSIGN(const Stored query, operand(op.getQuery()));
  SINTER_ASSIGN(const Stored key, operand(op.getKey()));
  std::vector<BoundArgument> arguments = {asColumns(query), asColumns(key)};
  for (Value rows : {op.getValue(), op.getDecay(), op.getBeta(), op.getSpans()}) {
    SINTER_ASSIGN(const BoundView view, operandView(rows));
    arguments.push_back(view);
  }
  SINTER_ASSIGN(const Stored state, stored(op.getState()));
  stored_[launch.getResult(1)] = state;
  arguments.push_back(state.view());
  arguments.push_back(allocate(launch.getResult(0)).view());
  arguments.push_back(f32Scalar(op.getScale().convertToFloat()));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

} // namespace sinter::engine
