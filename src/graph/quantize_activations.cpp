// Rounds the activations of contractions with block formats, so that both operands are blocks.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

void quantizeActivations(ModuleOp module, StringRef activation,
                         llvm::function_ref<bool(Type)> rounds, bool roundScalars) {
  llvm::DenseMap<std::pair<Value, Type>, Value> rounded;
  auto format = tile::BlockType::get(module.getContext(), activation);
  module.walk([&](ContractOp contract) {
    Value a = contract.getA();
    auto type = cast<RankedTensorType>(a.getType());
    Type weights = contract.getB().getType().getElementType();
    bool blocks = isa<tile::BlockType>(weights) && rounds(weights);
    bool scalars = roundScalars && (weights.isF16() || weights.isBF16());
    if (!(blocks || scalars) || !type.getElementType().isF32())
      return;
    Type to = blocks ? Type(format) : weights;
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
