// Evaluates what only moves elements.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"

using namespace mlir;

namespace sinter::graph {

void evaluateConstant(ConstantOp op, Call &call) {
  double *out = call.result().values.data();
  Type element = call.result().element;
  if (isa<FloatType>(element))
    for (const APFloat &value : op.getValue().getValues<APFloat>()) {
      APFloat wide = value;
      bool loses = false;
      wide.convert(llvm::APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      *out++ = wide.convertToDouble();
    }
  else
    for (const APInt &value : op.getValue().getValues<APInt>())
      *out++ = element.isInteger(1) ? static_cast<double>(value.getZExtValue())
                                    : static_cast<double>(value.getSExtValue());
}

void evaluateIota(IotaOp op, Call &call) {
  Tensor &out = call.result();
  Shape counts(out.shape.size(), 0);
  counts[op.getAxis()] = 1;
  forEachIndex(out.shape, {stridesOf(out.shape), counts},
               [&](const int64_t *at) { out.values[at[0]] = static_cast<double>(at[1]); });
}

void evaluateGather(GatherOp op, Call &call) {
  const Tensor &table = call.operand(0), &index = call.operand(1);
  Tensor &out = call.result();
  const SmallVector<int64_t> indexAxes = op.getIndexAxes();
  const Shape ofTable = stridesOf(table.shape), ofIndex = stridesOf(index.shape);
  const auto axis = static_cast<int64_t>(op.getAxis());
  // Of the result's axes: the table's, and the index's in place of one of them.
  Shape inTable, inIndex;
  for (int64_t i = 0; i < static_cast<int64_t>(table.shape.size()); ++i) {
    if (i == axis) {
      inTable.append(indexAxes.size(), 0);
      for (int64_t other : indexAxes)
        inIndex.push_back(ofIndex[other]);
      continue;
    }
    const auto *batch = llvm::find(op.getTableBatch(), i);
    const bool isBatch = batch != op.getTableBatch().end();
    inTable.push_back(ofTable[i]);
    inIndex.push_back(isBatch ? ofIndex[op.getIndexBatch()[batch - op.getTableBatch().begin()]]
                              : 0);
  }
  auto to = out.values.begin();
  forEachIndex(out.shape, {inTable, inIndex}, [&](const int64_t *at) {
    const double row = index.values[at[1]];
    if (row >= 0 && row < static_cast<double>(table.shape[axis]))
      *to = table.values[at[0] + static_cast<int64_t>(row) * ofTable[axis]];
    ++to;
  });
}

// Copies to all elements of the result from where the strides say.
static void copyFrom(const Tensor &from, int64_t first, const Shape &strides, Tensor &to) {
  double *out = to.values.data();
  const double *in = from.values.data() + first;
  forEachIndex(to.shape, {strides}, [&](const int64_t *at) { *out++ = in[*at]; });
}

void evaluateTranspose(TransposeOp op, Call &call) {
  const Shape strides = stridesOf(call.operand(0).shape);
  Shape permuted;
  for (int64_t axis : op.getPermutation())
    permuted.push_back(strides[axis]);
  copyFrom(call.operand(0), 0, permuted, call.result());
}

Result<void> evaluateSlice(SliceOp op, Call &call) {
  const Tensor &from = call.operand(0);
  Shape strides = stridesOf(from.shape);
  int64_t first = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    const int64_t offset = op.getOffsets()[axis], step = op.getSteps() ? (*op.getSteps())[axis] : 1;
    const int64_t taken = call.result().shape[axis];
    if (taken > 0 &&
        (offset >= from.shape[axis] || (taken - 1) > (from.shape[axis] - 1 - offset) / step))
      return fail(Code::InvalidArgument,
                  "a slice takes " + std::to_string(taken) + " elements of axis " +
                      std::to_string(axis) + " from " + std::to_string(offset) + " by steps of " +
                      std::to_string(step) + ", but it has " + std::to_string(from.shape[axis]));
    first += offset * strides[axis];
    strides[axis] *= step;
  }
  copyFrom(from, first, strides, call.result());
  return {};
}

// Copies all of `from` into a box of `to` that begins at element `first`.
static void copyInto(const Tensor &from, Tensor &to, int64_t first) {
  const double *in = from.values.data();
  forEachIndex(from.shape, {stridesOf(to.shape)},
               [&](const int64_t *at) { to.values[first + *at] = *in++; });
}

void evaluateConcat(ConcatOp op, Call &call) {
  const int64_t stride = stridesOf(call.result().shape)[op.getAxis()];
  int64_t first = 0;
  for (const Tensor *part : call.operands) {
    copyInto(*part, call.result(), first);
    first += part->shape[op.getAxis()] * stride;
  }
}

void evaluatePad(PadOp op, Call &call) {
  Tensor &out = call.result();
  double fill = 0;
  if (auto number = dyn_cast<FloatAttr>(op.getFill()))
    fill = number.getValueAsDouble();
  else if (auto whole = dyn_cast<IntegerAttr>(op.getFill()))
    fill = static_cast<double>(whole.getValue().getSExtValue());
  std::fill(out.values.begin(), out.values.end(), fill);
  int64_t first = 0;
  for (auto [low, stride] : llvm::zip_equal(op.getLow(), stridesOf(out.shape)))
    first += low * stride;
  copyInto(call.operand(0), out, first);
}

} // namespace sinter::graph
