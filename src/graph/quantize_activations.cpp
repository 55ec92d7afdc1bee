// Rounds the activations of contractions with block formats, so that both operands are blocks.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

// The rounded format of each f32 value that is contracted with blocks.
static llvm::DenseMap<Value, const ActivationFormat *> formatsOf(ModuleOp module,
                                                                 ActivationFor activationFor) {
  llvm::DenseMap<Value, const ActivationFormat *> formats;
  module.walk([&](ContractOp contract) {
    Type weights = contract.getB().getType().getElementType();
    const ActivationFormat *asked =
        isa<tile::BlockType>(weights) ? activationFor(weights) : nullptr;
    if (!asked)
      return;
    const ActivationFormat *&format = formats[contract.getA()];
    if (!format || asked->partLength < format->partLength)
      format = asked;
  });
  return formats;
}

void quantizeActivations(ModuleOp module, ActivationFor activationFor, bool roundScalars) {
  auto formats = formatsOf(module, activationFor);
  llvm::DenseMap<std::pair<Value, Type>, Value> rounded;
  module.walk([&](ContractOp contract) {
    Value a = contract.getA();
    auto type = cast<RankedTensorType>(a.getType());
    Type weights = contract.getB().getType().getElementType();
    bool blocks = isa<tile::BlockType>(weights) && activationFor(weights);
    bool scalars = roundScalars && (weights.isF16() || weights.isBF16());
    if (!(blocks || scalars) || !type.getElementType().isF32())
      return;
    Type to = weights;
    if (blocks)
      to = tile::BlockType::get(module.getContext(), StringRef(formats.lookup(a)->name).lower());
    Value &value = rounded[{a, to}];
    if (!value) {
      OpBuilder b(module.getContext());
      b.setInsertionPointAfterValue(a);
      auto rows = RankedTensorType::get(type.getShape(), to, type.getEncoding());
      value = QuantizeOp::create(b, contract.getLoc(), rows, a);
    }
    contract.getAMutable().assign(value);
  });
}

} // namespace sinter::graph
