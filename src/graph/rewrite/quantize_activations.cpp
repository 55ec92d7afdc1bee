// Rounds the activations of matmuls with block formats, so that both operands are blocks, or
// to what products take.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

#include <numeric>

using namespace mlir;

namespace sinter::graph {

// Elements of a value that one kernel makes together: of joined heads those of one, or of the heads
// that attend to the same keys.
static uint64_t lengthTogether(Value value) {
  if (auto joined = value.getDefiningOp<ReshapeOp>())
    value = joined.getOperand();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (auto attend = value.getDefiningOp<PagedAttentionOp>())
    return shape.back() * (shape[1] / poolShapeOf(attend.getValues().getType()).heads);
  return shape.back();
}

// The rounded format of each f32 value that is multiplied with blocks: with all sums that any of
// them asks for, and scales that suit all of them and what makes the value.
static llvm::DenseMap<Value, const ActivationFormat *> formatsOf(ModuleOp module,
                                                                 ActivationFor activationFor) {
  llvm::DenseMap<Value, const ActivationFormat *> formats;
  module.walk([&](DotGeneralOp matmul) {
    Type weights = matmul.getB().getType().getElementType();
    const ActivationFormat *asked =
        isa<tile::BlockType>(weights) && matmul.isLinear() ? activationFor(weights) : nullptr;
    if (!asked)
      return;
    const ActivationFormat *&format = formats[matmul.getA()];
    uint32_t part = asked->partLength;
    uint64_t length = std::gcd<uint64_t>(asked->scaleLength, lengthTogether(matmul.getA()));
    if (format) {
      part = std::min(part, format->partLength);
      length = std::gcd<uint64_t>(length, format->scaleLength);
    }
    format = &activationFormatFor(part, std::max<uint64_t>(length, kActivationLength));
  });
  return formats;
}

void quantizeActivations(ModuleOp module, ActivationFor activationFor, bool roundScalars,
                         Type besideBlocks) {
  auto formats = formatsOf(module, activationFor);
  auto formatOf = [&](Type weights) {
    return isa<tile::BlockType>(weights) ? activationFor(weights) : nullptr;
  };
  llvm::DenseMap<std::pair<Value, Type>, Value> rounded;
  module.walk([&](DotGeneralOp matmul) {
    if (!matmul.isLinear())
      return;
    Value a = matmul.getA();
    auto type = cast<RankedTensorType>(a.getType());
    Type weights = matmul.getB().getType().getElementType();
    Type to;
    if (const ActivationFormat *format = formatOf(weights) ? formats.lookup(a) : nullptr)
      to = tile::BlockType::get(module.getContext(), StringRef(format->name).lower());
    else if (isa<tile::BlockType>(weights))
      to = besideBlocks;
    else if (roundScalars && (weights.isF16() || weights.isBF16()))
      to = weights;
    if (!to || !type.getElementType().isF32())
      return;
    Value &value = rounded[{a, to}];
    if (!value) {
      OpBuilder b(module.getContext());
      b.setInsertionPointAfterValue(a);
      auto rows = RankedTensorType::get(type.getShape(), to, type.getEncoding());
      value = QuantizeOp::create(b, matmul.getLoc(), rows, a);
    }
    matmul.getAMutable().assign(value);
  });
}

} // namespace sinter::graph
