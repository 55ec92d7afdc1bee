// Joins matmuls of the same value into one.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {
// What matmuls must share to be joined.
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

static void join(ArrayRef<DotGeneralOp> group) {
  DotGeneralOp first = group.front();
  OpBuilder b(first);
  SmallVector<Attribute> tensors;
  int64_t rows = 0;
  for (DotGeneralOp matmul : group) {
    llvm::append_range(tensors, matmul.getB().getDefiningOp<WeightOp>().getTensors());
    rows += matmul.getB().getType().getDimSize(0);
  }
  RankedTensorType weight = first.getB().getType(), result = first.getResult().getType();
  auto joined =
      WeightOp::create(b, first.getLoc(),
                       RankedTensorType::get({rows, weight.getDimSize(1)}, weight.getElementType()),
                       b.getArrayAttr(tensors));
  auto type = RankedTensorType::get({result.getDimSize(0), rows}, result.getElementType(),
                                    result.getEncoding());
  Value all = DotGeneralOp::create(b, first.getLoc(), type, first.getA(), joined);
  int64_t offset = 0;
  for (DotGeneralOp matmul : group) {
    Operation *weights = matmul.getB().getDefiningOp();
    b.setInsertionPoint(matmul);
    RankedTensorType part = matmul.getResult().getType();
    Value slice = SliceOp::create(b, matmul.getLoc(), part, all, ArrayRef<int64_t>{0, offset},
                                  DenseI64ArrayAttr());
    offset += part.getDimSize(1);
    matmul.getResult().replaceAllUsesWith(slice);
    matmul.erase();
    if (weights->use_empty())
      weights->erase();
  }
}

void joinMatmuls(ModuleOp module) {
  std::map<Key, SmallVector<DotGeneralOp>> groups;
  SmallVector<Key> order;
  module.walk([&](DotGeneralOp matmul) {
    if (!matmul.isLinear() || matmul.getA().getType().getRank() != 2 ||
        !matmul.getB().getDefiningOp<WeightOp>())
      return;
    Key key{matmul.getA(), matmul.getB().getType().getElementType(), matmul->getBlock()};
    auto &group = groups[key];
    if (group.empty())
      order.push_back(key);
    group.push_back(matmul);
  });
  for (const Key &key : order)
    if (groups[key].size() > 1)
      join(groups[key]);
}

} // namespace sinter::graph
