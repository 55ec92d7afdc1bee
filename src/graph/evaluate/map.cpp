// Evaluates a map's region on stretches of elements.
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

} // namespace sinter::graph
