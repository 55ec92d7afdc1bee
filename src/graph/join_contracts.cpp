// Joins contractions of the same value into one.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {
// What contractions must share to be joined.
struct Key {
  Value a;
  Type element;
  mlir::Block *block;
  auto operator<=>(const Key &other) const {
    return std::tuple(a.getAsOpaquePointer(), element.getAsOpaquePointer(), block) <=>
           std::tuple(other.a.getAsOpaquePointer(), other.element.getAsOpaquePointer(),
                      other.block);
  }
};
} // namespace

static void join(ArrayRef<ContractOp> group) {
  ContractOp first = group.front();
  OpBuilder b(first);
  SmallVector<Attribute> tensors;
  int64_t rows = 0;
  for (ContractOp contract : group) {
    llvm::append_range(tensors, contract.getB().getDefiningOp<WeightOp>().getTensors());
    rows += contract.getB().getType().getDimSize(0);
  }
  RankedTensorType weight = first.getB().getType(), result = first.getResult().getType();
  auto joined =
      WeightOp::create(b, first.getLoc(),
                       RankedTensorType::get({rows, weight.getDimSize(1)}, weight.getElementType()),
                       b.getArrayAttr(tensors));
  auto type = RankedTensorType::get({result.getDimSize(0), rows}, result.getElementType(),
                                    result.getEncoding());
  Value all = ContractOp::create(b, first.getLoc(), type, first.getA(), joined);
  int64_t offset = 0;
  for (ContractOp contract : group) {
    Operation *weights = contract.getB().getDefiningOp();
    b.setInsertionPoint(contract);
    RankedTensorType part = contract.getResult().getType();
    Value slice = SliceOp::create(b, contract.getLoc(), part, all, static_cast<uint64_t>(offset));
    offset += part.getDimSize(1);
    contract.getResult().replaceAllUsesWith(slice);
    contract.erase();
    if (weights->use_empty())
      weights->erase();
  }
}

void joinContracts(ModuleOp module) {
  std::map<Key, SmallVector<ContractOp>> groups;
  SmallVector<Key> order;
  module.walk([&](ContractOp contract) {
    if (!contract.getB().getDefiningOp<WeightOp>())
      return;
    Key key{contract.getA(), contract.getB().getType().getElementType(), contract->getBlock()};
    auto &group = groups[key];
    if (group.empty())
      order.push_back(key);
    group.push_back(contract);
  });
  for (const Key &key : order)
    if (groups[key].size() > 1)
      join(groups[key]);
}

} // namespace sinter::graph
