// Rounds the activations of contractions with block formats, so that both operands are blocks.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

void quantizeActivations(ModuleOp module, StringRef activation) {
  llvm::DenseMap<Value, Value> rounded;
  auto format = tile::BlockType::get(module.getContext(), activation);
  module.walk([&](ContractOp contract) {
    Value a = contract.getA();
    auto type = cast<RankedTensorType>(a.getType());
    if (!isa<tile::BlockType>(contract.getB().getType().getElementType()) ||
        !type.getElementType().isF32())
      return;
    Value &value = rounded[a];
    if (!value) {
      OpBuilder b(module.getContext());
      b.setInsertionPointAfterValue(a);
      auto blocks = RankedTensorType::get(type.getShape(), format, type.getEncoding());
      value = QuantizeOp::create(b, contract.getLoc(), blocks, a);
    }
    contract.getAMutable().assign(value);
  });
}

} // namespace sinter::graph
