// Lowering, operations with states of sequences.
#include "tile/mlir_pch.h"

#include "engine/choice/recurrence.h"
#include "engine/lowering.h"
#include "kernels/recurrence.h"
#include "plan/contract.h"

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

// Rows in chunks, or one by one.
Result<Lowering::Steps> Lowering::deltaRuleOf(graph::LaunchOp launch, bool chunks) {
  auto op = graph::mainOf<graph::DeltaRuleOp>(launch);
  SINTER_ASSIGN(KernelId kernel,
                chunks
                    ? kernels_.add("delta_rule_chunks", chooseDeltaRuleChunks(op, options_.profile),
                                   kernels::deltaRuleChunks)
                    : kernels_.add("delta_rule", chooseDeltaRule(op), kernels::deltaRule));
  std::vector<BoundArgument> arguments;
  for (Value heads : {op.getQuery(), op.getKey()}) {
    SINTER_ASSIGN(const Stored read, operand(heads));
    arguments.push_back(chunks ? read.view() : asColumns(read));
  }
  for (Value rows : {op.getValue(), op.getDecay(), op.getBeta(), op.getSpans()}) {
    SINTER_ASSIGN(const BoundView view, operandView(rows));
    arguments.push_back(view);
  }
  for (Value result : {launch.getResult(1), launch.getResult(0)})
    arguments.push_back(stored_.at(result).view());
  arguments.push_back(f32Scalar(op.getScale().convertToFloat()));
  Steps steps;
  addLaunch(steps, kernel, arguments, launch);
  return steps;
}

// Prefill takes chunks of rows. A state has the bits of the steps that made it, so steps must then
// be prefill or decode, and whoever runs them must know where prompts may be cut.
Result<void> Lowering::lowerDeltaRule(graph::LaunchOp launch) {
  constexpr int64_t kMostKeyDim = 512;
  auto op = graph::mainOf<graph::DeltaRuleOp>(launch);
  if (const int64_t keyDim = op.getKey().getType().getDimSize(2); keyDim > kMostKeyDim)
    return fail(Code::Unsupported, "a delta rule has keys of " + std::to_string(keyDim) +
                                       " elements, expected at most " +
                                       std::to_string(kMostKeyDim));
  SINTER_ASSIGN(stored_[launch.getResult(1)], stored(op.getState()));
  allocate(launch.getResult(0));
  const bool knowsPhases = roles_.contains(graph::SymbolRole::Decode);
  if (!knowsPhases || (hasPhase_ && !isPrefill_)) {
    SINTER_ASSIGN(Steps rows, deltaRuleOf(launch, false));
    llvm::move(rows, std::back_inserter(steps_));
    return {};
  }
  SINTER_ASSIGN(Steps chunks, deltaRuleOf(launch, true));
  plan_.properties[contract::kChunkRows.name] =
      chooseDeltaRuleChunks(op, options_.profile).chunkRows;
  if (hasPhase_) {
    llvm::move(chunks, std::back_inserter(steps_));
    return {};
  }
  SINTER_ASSIGN(Steps rows, deltaRuleOf(launch, false));
  plan::If byPhase{symbolOf(graph::SymbolRole::Decode), std::move(rows), std::move(chunks)};
  steps_.push_back({std::move(byPhase)});
  return {};
}

} // namespace sinter::engine
