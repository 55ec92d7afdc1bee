// Evaluates regions of maps and folds on stretches of elements.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "graph/evaluate/call.h"
#include "graph/evaluate/scalar_program.h"

using namespace mlir;

namespace sinter::graph {

static constexpr int64_t kStretch = 512;

// Strides of an operand over the result's axes: 0 where it repeats.
static Shape broadcastStrides(const Tensor &operand, size_t rank) {
  Shape strides(rank, 0);
  const Shape own = stridesOf(operand.shape);
  const size_t absent = rank - operand.shape.size();
  for (size_t axis = 0; axis < own.size(); ++axis)
    strides[absent + axis] = operand.shape[axis] == 1 ? 0 : own[axis];
  return strides;
}

void evaluateMap(MapOp op, Call &call) {
  ScalarProgram program(op.getBody().front(), call.precision, kStretch);
  Tensor &out = call.result();
  std::vector<Shape> strides;
  for (const Tensor *operand : call.operands)
    strides.push_back(broadcastStrides(*operand, out.shape.size()));
  int64_t filled = 0, done = 0;
  auto flush = [&] {
    ArrayRef<double> values = program.run(filled);
    std::copy_n(values.begin(), filled, out.values.begin() + done);
    done += filled;
    filled = 0;
  };
  forEachIndex(out.shape, strides, [&](const int64_t *at) {
    for (size_t i = 0; i < call.operands.size(); ++i)
      program.argument(i)[filled] = call.operands[i]->values[at[i]];
    if (++filled == kStretch)
      flush();
  });
  if (filled > 0)
    flush();
  SINTER_CHECK(done == out.count());
}

// ---- fold ----

static std::vector<int64_t> offsetsOver(const Tensor &tensor, ArrayRef<int64_t> axes, bool folded) {
  const Shape all = stridesOf(tensor.shape);
  Shape shape, strides;
  for (size_t axis = 0; axis < all.size(); ++axis)
    if (llvm::is_contained(axes, static_cast<int64_t>(axis)) == folded) {
      shape.push_back(tensor.shape[axis]);
      strides.push_back(all[axis]);
    }
  return offsetsOf(shape, strides);
}

static double numberOf(Attribute from) {
  if (auto number = dyn_cast<FloatAttr>(from))
    return number.getValueAsDouble();
  auto whole = cast<IntegerAttr>(from);
  return whole.getType().isInteger(1) ? static_cast<double>(whole.getValue().getZExtValue())
                                      : static_cast<double>(whole.getValue().getSExtValue());
}

void evaluateFold(FoldOp op, Call &call) {
  const int64_t results = op.getNumResults();
  ScalarProgram program(op.getBody().front(), call.precision, kStretch);
  const SmallVector<int64_t> axes = op.getFoldAxes();
  const std::vector<int64_t> along = offsetsOver(call.operand(0), axes, true);
  const std::vector<int64_t> kept = offsetsOver(call.operand(0), axes, false);
  const auto total = static_cast<int64_t>(kept.size());
  for (int64_t first = 0; first < total; first += kStretch) {
    const int64_t count = std::min(kStretch, total - first);
    std::vector<std::vector<double>> sums;
    for (Attribute from : op.getFrom())
      sums.emplace_back(count, numberOf(from));
    for (int64_t offset : along) {
      for (int64_t i = 0; i < results; ++i)
        std::copy_n(sums[i].begin(), count, program.argument(i));
      for (size_t i = 0; i < call.operands.size(); ++i)
        for (int64_t at = 0; at < count; ++at)
          program.argument(results + i)[at] = call.operands[i]->values[kept[first + at] + offset];
      (void)program.run(count);
      for (int64_t i = 0; i < results; ++i)
        std::copy_n(program.result(i), count, sums[i].begin());
    }
    for (int64_t i = 0; i < results; ++i)
      std::copy_n(sums[i].begin(), count, call.results[i].values.begin() + first);
  }
}

} // namespace sinter::graph
