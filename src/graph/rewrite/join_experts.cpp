// Joins grouped matmuls of the same rows by the same groups into one, as gate and up of experts.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

using namespace mlir;

namespace sinter::graph {

static WeightOp weightOf(Value value) {
  return value ? value.getDefiningOp<WeightOp>() : WeightOp();
}

// Whether two take the same rows by matrices of one type, one part each.
static bool joins(GroupedDotOp first, GroupedDotOp other) {
  auto alike = [](GroupedDotOp op) {
    return weightOf(op.getB()) && op.getParts() == 1 && (!op.getBias() || weightOf(op.getBias()));
  };
  return alike(first) && alike(other) && first.getA() == other.getA() &&
         first.getGroups() == other.getGroups() && first->getBlock() == other->getBlock() &&
         first.getB().getType() == other.getB().getType() &&
         (first.getBias() != nullptr) == (other.getBias() != nullptr);
}

// The tensors of operands one after another.
static Value joinedWeight(OpBuilder &b, Location loc, ArrayRef<Value> values) {
  if (!values.front())
    return {};
  SmallVector<Attribute> tensors;
  for (Value value : values)
    llvm::append_range(tensors, weightOf(value).getTensors());
  auto type = cast<RankedTensorType>(values.front().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] *= static_cast<int64_t>(values.size());
  return WeightOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()),
                          b.getArrayAttr(tensors));
}

static void join(ArrayRef<GroupedDotOp> group) {
  GroupedDotOp first = group.front();
  OpBuilder b(first);
  const auto parts = static_cast<int64_t>(group.size());
  Value matrices =
      joinedWeight(b, first.getLoc(),
                   llvm::map_to_vector(group, [](GroupedDotOp op) -> Value { return op.getB(); }));
  Value bias = joinedWeight(
      b, first.getLoc(),
      llvm::map_to_vector(group, [](GroupedDotOp op) -> Value { return op.getBias(); }));
  RankedTensorType part = first.getResult().getType();
  const int64_t columns = part.getDimSize(1);
  auto type = RankedTensorType::get({part.getDimSize(0), parts * columns}, part.getElementType(),
                                    part.getEncoding());
  Value all = GroupedDotOp::create(b, first.getLoc(), type, first.getA(), matrices,
                                   first.getGroups(), bias, first.getChoices());
  for (int64_t at = 0; at < parts; ++at) {
    GroupedDotOp op = group[at];
    b.setInsertionPoint(op);
    Value slice = SliceOp::create(b, op.getLoc(), part, all, ArrayRef<int64_t>{0, at * columns},
                                  DenseI64ArrayAttr());
    op.getResult().replaceAllUsesWith(slice);
    SmallVector<Value> operands = {op.getB(), op.getBias()};
    op.erase();
    for (Value operand : operands)
      if (operand && operand.use_empty())
        operand.getDefiningOp()->erase();
  }
}

void joinExperts(ModuleOp module) {
  SmallVector<SmallVector<GroupedDotOp>> groups;
  module.walk([&](GroupedDotOp op) {
    auto found = llvm::find_if(groups, [&](auto &group) { return joins(group.front(), op); });
    if (found != groups.end())
      found->push_back(op);
    else
      groups.push_back({op});
  });
  for (const auto &group : groups)
    if (group.size() > 1)
      join(group);
}

} // namespace sinter::graph
